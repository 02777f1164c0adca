//! What a study measured is what it names, and what it prints to repeat it repeats it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{PROGRAM, Said, WRITING, drivelab, file, folder, said, starter};

fn ended(said: &Said) {
    assert!([0, 1, 4].contains(&said.code), "{said:?}");
}

/// The runs that a results folder keeps.
fn runs(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("runs.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn shell(folder: &Path, line: &str) -> Said {
    let program = Path::new(PROGRAM).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = starter(folder, "sh");
    said(shell.args(["-c", line]).env("PATH", path).output().unwrap())
}

#[test]
fn the_command_to_repeat_repeats() {
    let folder = folder();
    file(folder.path(), "my study.toml", &WRITING.replace("DO", "true"));
    // Somebody's data: without --overwrite nothing writes here.
    file(folder.path(), "it's data", &"precious".repeat(1 << 18));
    let arguments = ["study", "my study.toml", "--target", "it's data", "--size", "1M"];
    let more = ["--blocks", "2", "--seed", "5", "--overwrite"];
    let first = drivelab(folder.path(), &[&arguments[..], &more].concat());
    ended(&first);
    let lead = "To repeat: ";
    let line = first.out.lines().find_map(|line| line.strip_prefix(lead));
    let line = line.unwrap_or_else(|| panic!("{first:?}"));
    for word in ["--stage hardware", "--blocks 2", "--seed 5", "--size 1M", "--overwrite"] {
        assert!(line.contains(word), "`{word}` is missing: {line}");
    }
    let again = shell(folder.path(), line);
    ended(&again);
    assert!(again.out.contains(line), "{again:?}");
    let results = folder.path().join("drivelab-results");
    let plan = |name: &str| {
        let text = fs::read_to_string(results.join(name).join("plan.json")).unwrap();
        let plan: Value = serde_json::from_str(&text).unwrap();
        [plan["plan"].clone(), plan["target"].clone(), plan["seed"].clone()]
    };
    assert_eq!(plan("my study"), plan("my study-2"));
    assert_eq!(runs(&results.join("my study-2")).len(), 4);
}

#[test]
fn a_study_goes_on_with_what_it_was_begun_with() {
    let folder = folder();
    let study = WRITING.replace("DO", "test -e FOLDER/go || kill -INT $PPID");
    let study = study.replace("FOLDER", folder.path().to_str().unwrap());
    file(folder.path(), "real.toml", &study);
    file(folder.path(), "data", &"precious".repeat(1 << 18));
    let arguments = ["study", "real.toml", "--target", "data", "--size", "1M", "--stage"];
    let more = ["hardware", "--blocks", "7", "--seed", "3", "--overwrite"];
    drivelab(folder.path(), &[&arguments[..], &more].concat()).failed(130, &["--resume"]);
    file(folder.path(), "go", "");
    // From another folder, by the name of the results alone.
    let elsewhere = crate::common::folder();
    let kept = folder.path().join("drivelab-results/real");
    let out = kept.to_str().unwrap();
    ended(&drivelab(elsewhere.path(), &["study", "--resume", "--out", out]));
    let runs = runs(&kept);
    assert_eq!(runs.len(), 14);
    for run in &runs {
        assert_eq!(run["record"]["config"]["workload"]["size"], "1M", "{run}");
    }
    // By the name of the study alone the finished one is shown again.
    let again = drivelab(folder.path(), &["study", "real.toml", "--resume"]);
    ended(&again);
    for word in ["--target data", "--size 1M", "--blocks 7", "--seed 3", "--overwrite"] {
        assert!(again.out.contains(word), "`{word}` is missing: {again:?}");
    }
    let other = ["study", "real.toml", "--resume", "--size", "2M"];
    drivelab(folder.path(), &other).failed(2, &["--size 1M, not 2M"]);
}

#[test]
fn more_blocks_are_another_study_and_the_command_for_it_is_printed() {
    let folder = folder();
    file(folder.path(), "real.toml", &WRITING.replace("DO", "true"));
    let arguments = ["study", "real.toml", "--target", "data", "--size", "1M"];
    ended(&drivelab(folder.path(), &arguments));
    let more = drivelab(folder.path(), &["study", "real.toml", "--resume", "--blocks", "8"]);
    more.failed(2, &["6 blocks, not 8", "before the first result", "--blocks 8"]);
    let command = more.err.lines().find_map(|line| line.split_once(": drivelab study"));
    let command = format!("drivelab study{}", command.unwrap().1);
    ended(&shell(folder.path(), &command));
    assert_eq!(runs(&folder.path().join("drivelab-results/real-2")).len(), 16);
}

#[test]
fn a_file_that_is_there_is_used_as_far_as_it_goes() {
    let folder = folder();
    let reading = WRITING.replace("randwrite", "randread").replace("DO", "true");
    file(folder.path(), "real.toml", &reading);
    file(folder.path(), "data", &"x".repeat((3 << 20) + 100));
    // That a target is given says where it runs.
    ended(&drivelab(folder.path(), &["study", "real.toml", "--target", "data"]));
    for run in runs(&folder.path().join("drivelab-results/real")) {
        assert_eq!(run["record"]["config"]["workload"]["size"], "3M", "{run}");
    }
    let simulate = ["study", "real.toml", "--target", "data", "--stage", "simulate"];
    drivelab(folder.path(), &simulate).failed(2, &["--target", "--stage hardware"]);
}

#[test]
fn the_target_is_found_anew_for_every_run() {
    let folder = folder();
    let study = WRITING
        .replace("name = \"one\"", "name = \"one\"\napply = \"ln -sfn one at\"")
        .replace("apply = \"DO\"", "apply = \"rmdir at; ln -sfn two at\"")
        .replace("apply = \"ln -sfn one at\"", "apply = \"rmdir at; ln -sfn one at\"")
        .replace("revert = \"true\"", "revert = \"rm at; mkdir at\"");
    let study = study.replacen("[[arm]]", "[[arm]]\nrevert = \"rm at; mkdir at\"", 1);
    file(folder.path(), "real.toml", &study);
    // A mount point stays empty until an arm mounts something: here each arm puts a link there.
    for name in ["one", "two", "at"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let said = drivelab(
        folder.path(),
        &[
            &["study", "real.toml", "--target", "at/data", "--size", "1M", "--blocks", "2"][..],
            &["--explain"],
        ]
        .concat(),
    );
    ended(&said);
    assert_eq!(fs::read_dir(folder.path().join("at")).unwrap().count(), 0, "a stray file");
    for run in runs(&folder.path().join("drivelab-results/real")) {
        let arm = if run["step"]["arm"] == 0 { "one/data" } else { "two/data" };
        let target = run["record"]["target"].as_str().unwrap();
        assert!(target.ends_with(arm), "{arm}: {target}");
    }
    assert!(said.out.contains("`one` on "), "{said:?}");
}

#[test]
fn a_modelled_drive_is_no_file() {
    let folder = folder();
    let arguments = ["study", "buffered-or-direct", "--target", "drive:nonsense,foo=1"];
    drivelab(folder.path(), &arguments).failed(2, &["modelled drive", "./drive:nonsense,foo=1"]);
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "a file was made");
    file(folder.path(), "cells.toml", "targets = [\"drive:generic-5400\"]\nsize = \"1M\"\n");
    let said = drivelab(folder.path(), &["run", "--matrix", "cells.toml"]);
    said.failed(2, &["`drive:generic-5400` is a modelled drive", "[matrix]"]);
}

#[test]
fn arms_are_counted_before_anything_is_planned() {
    let folder = folder();
    let check = |arms: usize, blocks: u32, words: &[&str]| {
        let arms: Vec<String> = (0..arms).map(|n| format!("[[arm]]\nname = \"a{n}\"\n")).collect();
        let arms = arms.concat();
        let head = "title = \"x\"\nprimary = \"w.iops\"\n[base]\ndrive = \"generic-5400\"\n";
        let workload = "[[workload]]\nname = \"w\"\n";
        let study = format!("blocks = {blocks}\n{head}{arms}{workload}");
        file(folder.path(), "arms.toml", &study);
        drivelab(folder.path(), &["study", "arms.toml"]).failed(2, words);
    };
    check(20_000, 10, &["20000", "at most 1000"]);
    check(1000, 10_000, &["10000000 runs", "at most 1000000"]);
}

#[test]
fn where_the_declared_factor_did_not_differ_nothing_is_concluded() {
    let folder = folder();
    let study = r#"
title = "Does the scheduler help?"
primary = "read.iops"
factor = "scheduler"
blocks = 6
[base]
drive = "seagate-st31000333as"
scheduler = "deadline"
nr-requests = 64
[[arm]]
name = "a"
controller = "ide"
[[arm]]
name = "b"
controller = "ahci"
[[workload]]
name = "read"
rw = "randread"
iodepth = 32
runtime = "5s"
"#;
    file(folder.path(), "study.toml", study);
    let said = drivelab(folder.path(), &["study", "study.toml", "--json"]);
    assert_eq!(said.code, 4, "{said:?}");
    let result = said.json();
    assert_eq!(result["verdict"], "inconclusive");
    for metric in result["metrics"].as_array().unwrap() {
        assert_eq!(metric["verdict"], "inconclusive", "{metric}");
        assert!(metric["warnings"].to_string().contains("factor-unchanged"), "{metric}");
        assert_eq!(metric["runs_needed"], Value::Null, "{metric}");
    }
    let said = drivelab(folder.path(), &["study", "study.toml"]);
    assert!(said.out.contains("scheduler deadline"), "{said:?}");
    // The same arms, asked for what they do differ in.
    let declared = study.replace("factor = \"scheduler\"", "factor = \"controller\"");
    file(folder.path(), "study.toml", &declared);
    let declared = drivelab(folder.path(), &["study", "study.toml", "--json"]).json();
    assert!(!declared["metrics"].to_string().contains("factor-unchanged"), "{declared}");
}

#[test]
fn a_warning_names_first_what_it_is_about() {
    let folder = folder();
    let said = drivelab(folder.path(), &["study", "ahci-or-ide", "--blocks", "2", "--explain"]);
    let begins = |start: &str| said.out.lines().any(|line| line.starts_with(start));
    assert!(begins("Warning: `sequential-read.iops`"), "{said:?}");
    assert!(!begins("Warning: few-blocks"), "{said:?}");
}

#[test]
fn a_run_that_completes_nothing_costs_its_block_and_not_the_study() {
    let folder = folder();
    let study = r#"
title = "Does a queue help?"
primary = "read.iops"
blocks = 12
stage = "hardware"
margin = "50%"
[[arm]]
name = "one"
[[arm]]
name = "two"
run = { direct = false }
[[workload]]
name = "read"
rw = "randread"
rate_iops = 10
poisson = true
runtime = "100ms"
"#;
    file(folder.path(), "study.toml", study);
    file(folder.path(), "data", &"precious".repeat(1 << 17));
    let said = drivelab(folder.path(), &["study", "study.toml", "--target", "data", "--json"]);
    ended(&said);
    let result = said.json();
    let used = result["blocks_used"].as_u64().unwrap();
    assert!((1..12).contains(&used), "{result}");
    assert!(result["notes"].to_string().contains("completed no request"), "{result}");
    assert!(folder.path().join("drivelab-results/study/result.json").exists());
}
