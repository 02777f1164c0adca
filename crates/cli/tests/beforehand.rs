//! What a study is refused for before its first run, and what a killed one undoes before its next.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{SMALL, Said, WRITING, drivelab, file, folder};

/// Two workloads of a real file, of which the second writes.
const READ_AND_WRITE: &str = r#"
title = "Does it matter?"
primary = "read.iops"
blocks = 6

[[arm]]
name = "one"
[[arm]]
name = "two"
run = { ioengine = "psync" }

[[workload]]
name = "read"
rw = "randread"
number_ios = 20
[[workload]]
name = "write"
rw = "randwrite"
number_ios = 20
"#;

fn runs(folder: &Path) -> Vec<Value> {
    let journal = fs::read_to_string(folder.join("out/runs.jsonl")).unwrap_or_default();
    journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn writes_that_will_be_refused_are_refused_before_the_first_run() {
    let folder = folder();
    file(folder.path(), "study.toml", READ_AND_WRITE);
    file(folder.path(), "mine", &"precious ".repeat(100_000));
    let study = ["study", "study.toml", "--target", "mine", "--out", "out"];
    let said = drivelab(folder.path(), &study);
    said.failed(2, &["contains data that drivelab did not write", "workload `write` of arm `one`"]);
    assert!(!folder.path().join("out").exists(), "{said:?}");
    let allowed = drivelab(folder.path(), &[&study[..], &["--overwrite", "--json"]].concat());
    assert!([0, 1, 4].contains(&allowed.code), "{allowed:?}");
    assert_eq!(runs(folder.path()).len(), 24);
}

#[test]
fn a_target_of_an_arm_that_cannot_be_measured_is_refused_before_the_first_run() {
    let folder = folder();
    let study = READ_AND_WRITE.replace("name = \"two\"\n", "name = \"two\"\ntarget = \"other\"\n");
    file(folder.path(), "study.toml", &study);
    file(folder.path(), "other", &"precious ".repeat(200_000));
    let study = ["study", "study.toml", "--target", "new", "--size", "1M", "--out", "out"];
    let said = drivelab(folder.path(), &study);
    said.failed(2, &["contains data that drivelab did not write", "workload `write` of arm `two`"]);
    assert!(!folder.path().join("out").exists(), "{said:?}");
    assert!(!folder.path().join("new").exists(), "{said:?}");
}

#[test]
fn arms_that_nothing_switches_are_refused_before_anything_is_laid_out() {
    let folder = folder();
    let hardware = ["--stage", "hardware", "--target", "new", "--size", "1M"];
    let said = drivelab(folder.path(), &[&["study", "ahci-or-ide"], &hardware[..]].concat());
    said.failed(2, &["nothing sets `", "` here", "`apply = \"COMMAND\"`", "`manual"]);
    let check = |study: &str, word: Option<&str>| {
        file(folder.path(), "small.toml", study);
        let said = drivelab(folder.path(), &[&["study", "small.toml"], &hardware[..]].concat());
        match word {
            Some(word) => said.failed(2, &[word]),
            None => assert!(!said.err.contains("nothing sets"), "{said:?}"),
        }
    };
    check(SMALL, Some("so arms `ide` and `ahci` would be measured alike"));
    let drives = SMALL.replace("controller = \"ahci\"", "drive = \"generic-5400\"");
    check(&drives.replace("controller = \"ide\"", ""), Some("nothing sets `drive` here"));
    // A third arm that nothing switches does not hide behind one that something does.
    let third = "[[arm]]\nname = \"raid\"\ncontroller = \"scsi\"\n\n[[workload]]";
    let applied =
        SMALL.replace("controller = \"ahci\"\n", "controller = \"ahci\"\napply = \"exit 9\"\n");
    check(&applied.replace("[[workload]]", third), Some("nothing sets `controller` here"));
    check(&applied, None);
    assert!(!folder.path().join("new").exists());
}

#[test]
fn an_arm_that_nothing_undoes_is_refused_next_to_one_without_commands() {
    let folder = folder();
    let hardware = ["study", "small.toml", "--target", "new", "--size", "1M", "--out", "out"];
    let refused = |study: &str| {
        file(folder.path(), "small.toml", study);
        let said = drivelab(folder.path(), &hardware);
        (said.code == 2 && said.err.contains("nothing undoes the `apply` of arm `two`"), said)
    };
    let study = WRITING.replace("DO", "true");
    let bare = study.replace("revert = \"true\"\n", "");
    let (is_refused, said) = refused(&bare);
    assert!(is_refused, "{said:?}");
    said.failed(2, &["arm `one`, which has none", "give arm `two` a `revert = "]);
    assert!(!folder.path().join("out").exists() && !folder.path().join("new").exists());
    // Each of these says what is in force in every arm.
    let both = bare.replace("name = \"one\"\n", "name = \"one\"\napply = \"true\"\n");
    let apart = bare.replace("name = \"two\"\n", "name = \"two\"\ntarget = \"other\"\n");
    for study in [study, both, apart] {
        let (is_refused, said) = refused(&study);
        assert!(!is_refused, "{said:?}");
        let _ = fs::remove_dir_all(folder.path().join("out"));
    }
}

#[test]
fn the_reset_of_a_run_in_which_a_session_was_killed_is_made_before_the_next_run() {
    let folder = folder();
    let text = format!(
        "title = \"Is the run undone?\"\nprimary = \"it.v\"\nblocks = 6\n\
         [[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\n[[workload]]\nname = \"it\"\n\
         prepare = \"echo {{arm}} >/dev/null; mkdir made\"\ncommand = \"{KILL}; echo v 100\"\n\
         reset = \"rmdir made\"\n\
         [workload.metrics]\nv = {{ regex = \"v (.+)\", better = \"more\" }}\n"
    );
    file(folder.path(), "reset.toml", &text);
    let study = ["study", "reset.toml", "--out", "out", "--json"];
    let said = killed_then_resumed(folder.path(), &study);
    assert!([0, 4].contains(&said.code), "{said:?}");
    assert!(said.err.contains("in the middle of a run: its `reset` is made first"), "{said:?}");
    assert_eq!(runs(folder.path()).len(), 12);
    assert!(!folder.path().join("made").exists());
    assert!(!folder.path().join("out/entered.json").exists());
}

#[test]
fn a_primary_metric_that_no_run_can_have_is_known_at_once() {
    let folder = folder();
    let study = |keys: &str| {
        let study = SMALL.replace("read.iops", "read.lat_p99_ns");
        file(folder.path(), "small.toml", &study.replace("runtime = \"10s\"\n", keys));
        drivelab(folder.path(), &["study", "small.toml", "--out", "out"])
    };
    let said = study("number_ios = 500\n");
    said.failed(2, &["no run can have the primary metric `read.lat_p99_ns`", "10000 requests"]);
    assert!(!folder.path().join("out").exists(), "{said:?}");
    // How many requests a run completes is known from the first.
    let said = study("runtime = \"2s\"\n");
    said.failed(2, &["are too short for the primary metric", "it takes 10000 requests"]);
    said.failed(2, &["set `runtime = \"", "primary = \"read.lat_", "then start again"]);
    assert!(runs(folder.path()).is_empty());
    assert!(!said.err.contains("--resume"), "{said:?}");
    let other = said.err.split_once("primary = \"read.").unwrap().1.split_once('"').unwrap().0;
    let study = SMALL.replace("read.iops", &format!("read.{other}"));
    file(folder.path(), "small.toml", &study.replace("10s", "2s"));
    let said = drivelab(folder.path(), &["study", "small.toml", "--out", "other", "--json"]);
    assert!([0, 1, 4].contains(&said.code), "{said:?}");
}

/// A study in which `flag` is what arm `a` switches on: its runs have 100, those of `b` 200.
fn switched(folder: &Path, apply: &str, run: &str, revert: &str) -> Vec<&'static str> {
    let text = format!(
        "title = \"Does the flag matter?\"\nprimary = \"it.v\"\nblocks = 6\n\
         [[arm]]\nname = \"a\"\napply = \"touch flag; {apply}\"\nrevert = \"{revert}; rm -f flag\"\n\
         [[arm]]\nname = \"b\"\n[[workload]]\nname = \"it\"\n\
         command = \"{run}; if test -e flag; then echo v 100; else echo v 200; fi\"\n\
         [workload.metrics]\nv = {{ regex = \"v (.+)\", better = \"more\" }}\n"
    );
    file(folder, "switched.toml", &text);
    vec!["study", "switched.toml", "--out", "out", "--json"]
}

/// Kills drivelab, once, and the command with it.
const KILL: &str = "{ test -e killed || { touch killed; kill -9 $PPID; exit 1; }; }";

fn killed_then_resumed(folder: &Path, study: &[&str]) -> Said {
    let said = drivelab(folder, study);
    assert!(folder.join("killed").exists(), "{said:?}");
    assert_eq!(said.code, -1, "{said:?}");
    drivelab(folder, &[study, &["--resume"]].concat())
}

#[test]
fn an_arm_in_force_when_a_session_was_killed_is_undone_before_the_next_run() {
    let check = |[apply, run, revert]: [&str; 3]| {
        let folder = folder();
        let study = switched(folder.path(), apply, run, revert);
        let said = killed_then_resumed(folder.path(), &study);
        assert_eq!(said.code, 0, "{said:?}");
        let runs = runs(folder.path());
        assert_eq!(runs.len(), 12);
        for run in runs {
            let value = &run["record"]["phases"][0]["figures"][0]["value"];
            let expected = if run["step"]["arm"] == 0 { 100.0 } else { 200.0 };
            assert_eq!(value.as_f64(), Some(expected), "{run}");
        }
        assert!(!folder.path().join("out/entered.json").exists());
        said.err.contains("an earlier session ended while arm `a` was in force")
    };
    assert!(check([KILL, "true", "true"]));
    assert!(check(["true", "true", KILL]));
    // In a run it depends on the order of arms which of them is in force.
    let kill_in_a = format!("test ! -e flag || {KILL}");
    assert!(check(["true", &kill_in_a, "true"]));
    let kill_in_b = format!("test -e flag || {KILL}");
    assert!(!check(["true", &kill_in_b, "true"]));
}

#[test]
fn an_arm_that_cannot_be_undone_stops_the_study_until_a_person_has() {
    let folder = folder();
    let revert = format!("{KILL}; test -e by-hand");
    let study = switched(folder.path(), "true", "true", &format!("{revert} || exit 7"));
    let said = killed_then_resumed(folder.path(), &study);
    said.failed(3, &["undo it by hand, remove `out/entered.json`", "exit status: 7"]);
    let before = runs(folder.path()).len();
    // Nor can another study begin there.
    let fresh = drivelab(folder.path(), &study);
    fresh.failed(2, &["ended while one of its arms was in force", "add --resume"]);
    fs::remove_file(folder.path().join("flag")).unwrap();
    fs::remove_file(folder.path().join("out/entered.json")).unwrap();
    file(folder.path(), "by-hand", "");
    let said = drivelab(folder.path(), &[&study[..], &["--resume"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    assert!(before < 12 && runs(folder.path()).len() == 12);
}

#[test]
fn an_arm_that_was_undone_before_is_known_by_its_check() {
    let folder = folder();
    // The flag goes, and then the machine: a second `rm` without -f fails.
    let study =
        switched(folder.path(), "true", "true", &format!("rm flag && {KILL} && touch flag"));
    let text = fs::read_to_string(folder.path().join("switched.toml")).unwrap();
    let text = text.replace("\nrevert", "\ncheck = \"test -e flag\"\nrevert");
    file(folder.path(), "switched.toml", &text.replace("; rm -f flag\"", " && rm flag\""));
    let said = killed_then_resumed(folder.path(), &study);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(runs(folder.path()).len(), 12);
}
