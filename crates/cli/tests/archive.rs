//! Runs are kept, found again, named and deleted.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::common::{SMALL, command, drivelab, file, folder, said};

const RUN: [&str; 6] =
    ["run", "drive:generic-5400", "--rw=randread", "--number_ios=200", "--label", "before"];

const HYPERFINE: &str = "{\"results\":[{\"command\":\"sleep\",\"mean\":0.1,\"stddev\":0.01,\
    \"median\":0.1,\"user\":0.0,\"system\":0.0,\"min\":0.1,\"max\":0.1,\
    \"times\":[0.1,0.1]}]}";

#[test]
fn a_finished_run_is_in_the_history() {
    let folder = folder();
    assert_eq!(drivelab(folder.path(), &RUN).code, 0);
    let again = drivelab(folder.path(), &["run", "drive:generic-5400", "--number_ios=200"]);
    assert_eq!(again.code, 0, "{again:?}");
    let listed = drivelab(folder.path(), &["history", "--json"]).json();
    assert_eq!(listed["schema"], "drivelab.history/1");
    let runs = listed["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{listed}");
    assert_eq!(runs[0]["label"], "before");
    assert_eq!(runs[0]["primary"]["name"], "iops");
    assert_eq!(runs[0]["drive"], "generic-5400");
    let text = drivelab(folder.path(), &["history", "--label", "before", "--since", "today"]);
    assert_eq!(text.out.lines().count(), 2, "{text:?}");
    let other = drivelab(folder.path(), &["history", "--drive", "seagate"]);
    assert_eq!(other.out, "no runs\n");
}

#[test]
fn a_run_that_is_not_to_be_kept_is_not() {
    let folder = folder();
    let unkept = [&RUN[..], &["--no-archive"]].concat();
    assert_eq!(drivelab(folder.path(), &unkept).code, 0);
    assert_eq!(drivelab(folder.path(), &["history"]).out, "no runs\n");
    let elsewhere = [&RUN[..], &["--archive", "own.db"]].concat();
    assert_eq!(drivelab(folder.path(), &elsewhere).code, 0);
    assert_eq!(drivelab(folder.path(), &["history"]).out, "no runs\n");
    // The environment names an archive and asks for nothing.
    let in_environment = |arguments: &[&str]| {
        let mut named = command(folder.path(), arguments);
        said(named.env("DRIVELAB_ARCHIVE", "named.db").output().unwrap())
    };
    assert_eq!(in_environment(&unkept).code, 0);
    assert_eq!(in_environment(&["history"]).out, "no runs\n");
    let own = drivelab(folder.path(), &["history", "--archive", "own.db", "--json"]).json();
    assert_eq!(own["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_run_that_cannot_be_kept_is_printed_all_the_same() {
    let folder = folder();
    file(folder.path(), "own.db", &"no archive at all, under any name ".repeat(50));
    let mut run = command(folder.path(), &RUN[..4]);
    let printed = said(run.env("DRIVELAB_ARCHIVE", "own.db").output().unwrap());
    assert_eq!(printed.code, 0, "{printed:?}");
    let words = ["not archived", "--no-archive", "`own.db` is not an archive"];
    assert!(words.iter().all(|word| printed.err.contains(word)), "{printed:?}");
    assert!(printed.out.contains("IOPS"), "{printed:?}");
    drivelab(folder.path(), &["history", "--archive", "own.db"])
        .failed(2, &["`own.db` is not an archive", "hint"]);
}

#[test]
fn a_malformed_database_is_damage_and_that_is_an_answer() {
    let folder = folder();
    for seed in ["1", "2", "3", "4", "5", "6"] {
        let own = ["--seed", seed, "--archive", "own.db"];
        assert_eq!(drivelab(folder.path(), &[&RUN[..], &own].concat()).code, 0);
    }
    let path = folder.path().join("own.db");
    let mut bytes = fs::read(&path).unwrap();
    // The first bytes of each page but the first five say what is on it.
    bytes.chunks_mut(4096).skip(5).for_each(|page| page[..200].fill(0x5a));
    fs::write(&path, bytes).unwrap();
    let checked = drivelab(folder.path(), &["archive", "check", "--archive", "own.db"]);
    assert_eq!(checked.code, 1, "{checked:?}");
    assert!(
        checked.out.contains("0 runs intact") && checked.out.contains("damaged: "),
        "{checked:?}"
    );
}

#[test]
fn no_archive_is_made_among_devices() {
    let folder = folder();
    let name = "/dev/drivelab-test.db";
    let run = [&RUN[..], &["--archive", name]].concat();
    drivelab(folder.path(), &run).failed(3, &[name, "among the devices", "--archive FILE"]);
    assert!(!Path::new(name).exists());
}

#[test]
fn an_archive_that_is_asked_for_by_name_is_opened_before_the_run() {
    let folder = folder();
    file(folder.path(), "own.db", &"no archive at all, under any name ".repeat(50));
    file(folder.path(), "study.toml", SMALL);
    let own = ["--archive", "own.db"];
    for verb in [
        &["run", "drive:generic-5400", "--number_ios=200"][..],
        &["study", "study.toml"],
        &["study", "study.toml", "--label", "before"],
        &["drive", "measure", "drive:generic-5400", "--out", "m.toml"],
    ] {
        let refused = drivelab(folder.path(), &[verb, &own].concat());
        refused.failed(3, &["was not started", "`own.db` is not an archive", "--no-archive"]);
        assert_eq!(refused.out, "", "{verb:?}");
    }
    // A label is a name to find the run by; so are a tag and a commit.
    for named in [["--label", "a"], ["--tag", "a"], ["--commit", "a"]] {
        let words = [&RUN[..4], &named[..]].concat();
        let mut run = command(folder.path(), &words);
        said(run.env("DRIVELAB_ARCHIVE", "own.db").output().unwrap())
            .failed(3, &["was not started"]);
    }
    let mut unkept = command(folder.path(), &[&RUN[..], &["--no-archive"]].concat());
    assert_eq!(said(unkept.env("DRIVELAB_ARCHIVE", "own.db").output().unwrap()).code, 0);
    assert!(
        !folder.path().join("m.toml").exists() && !folder.path().join("drivelab-results").exists()
    );
}

#[test]
fn names_that_a_database_would_take_for_others_are_names_of_files() {
    let folder = folder();
    for name in [":memory:", "file:own.db?mode=memory"] {
        let kept = drivelab(folder.path(), &[&RUN[..], &["--archive", name]].concat());
        assert_eq!(kept.code, 0, "{kept:?}");
        assert!(folder.path().join(name).is_file(), "{name}");
        assert_eq!(listed(folder.path(), &["--archive", name]).len(), 1, "{name}");
    }
}

#[test]
fn a_benchmark_is_found_in_any_case_and_its_nearest_is_named() {
    let folder = folder();
    file(folder.path(), "h.json", HYPERFINE);
    let import = drivelab(folder.path(), &["archive", "import", "h.json"]);
    assert_eq!(import.code, 0, "{import:?}");
    assert_eq!(listed(folder.path(), &["--suite", "HyperFine"]).len(), 1);
    let asked = |suite: &str| drivelab(folder.path(), &["history", "--suite", suite]);
    asked("hyprfine")
        .failed(2, &["no kept run is of a benchmark `hyprfine`", "did you mean `hyperfine`?"]);
    asked("zzz").failed(2, &["benchmarks of kept runs: `hyperfine`"]);
}

#[test]
fn a_label_says_what_it_replaces() {
    let folder = folder();
    let run = drivelab(folder.path(), &[&RUN[..], &["--json"]].concat());
    let said = drivelab(folder.path(), &["label", "after", "label:before"]);
    assert!(said.err.contains("replaced the label `before` of 1 run"), "{said:?}");
    let again = drivelab(folder.path(), &["label", "after", "label:after", "--json"]);
    assert_eq!(again.err, "", "{again:?}");
    let gone = drivelab(folder.path(), &["label", "--remove", "label:after", "--json"]).json();
    assert_eq!(gone["replaced"], serde_json::json!({ "after": 1 }));
    // A run that is present keeps the label that it has, and that is said.
    file(folder.path(), "run.json", &run.out);
    let import = ["archive", "import", "run.json", "--label", "new"];
    let present = drivelab(folder.path(), &import);
    assert!(present.out.contains("already present: 1"), "{present:?}");
    let words = ["keeps its label, none", "drivelab label new 0"];
    assert!(words.iter().all(|word| present.err.contains(word)), "{present:?}");
    drivelab(folder.path(), &["label", "new", "@today"]);
    assert_eq!(drivelab(folder.path(), &import).err, "");
}

#[test]
fn parts_are_deleted_with_their_whole_and_beginnings_of_ids_must_say_enough() {
    let folder = folder();
    file(
        folder.path(),
        "two.fio",
        "[global]\nrw=read\nsize=1m\nfilename=drive:generic-5400\n[a]\n[b]\nstonewall\n",
    );
    let kept = drivelab(folder.path(), &["run", "--job", "two.fio"]);
    assert_eq!(kept.code, 0, "{kept:?}");
    let id = listed(folder.path(), &[])[0]["id"].as_str().unwrap().to_owned();
    let part = listed(folder.path(), &["--parts", &id])[0]["id"].as_str().unwrap().to_owned();
    drivelab(folder.path(), &["delete", &part, "--yes"])
        .failed(2, &["is a part of", &format!("drivelab delete {id}")]);
    for short in ["0", "01", &id[..3]] {
        drivelab(folder.path(), &["delete", short, "--yes"])
            .failed(2, &["fewer than 4 characters of an id", "drivelab history"]);
    }
    drivelab(folder.path(), &[&RUN[..], &["--seed", "2"]].concat());
    drivelab(folder.path(), &["delete", &id[..4], "--yes"])
        .failed(2, &["is the beginning of 2 ids", &id, ", before)"]);
    assert_eq!(listed(folder.path(), &[]).len(), 2);
}

#[test]
fn kept_runs_are_named_and_deleted_by_the_beginning_of_their_ids() {
    let folder = folder();
    drivelab(folder.path(), &RUN);
    let listed = drivelab(folder.path(), &["history", "--json"]).json();
    let id = listed["runs"][0]["id"].as_str().unwrap();
    assert_eq!(drivelab(folder.path(), &["label", "after", &id[..20]]).code, 0);
    let listed = drivelab(folder.path(), &["history", "--json"]).json();
    assert_eq!(listed["runs"][0]["label"], "after");
    drivelab(folder.path(), &["delete", id]).failed(2, &["--yes"]);
    drivelab(folder.path(), &["delete", "ZZZZ", "--yes"]).failed(2, &["no run", "history"]);
    let deleted = drivelab(folder.path(), &["delete", id, "--yes"]);
    assert_eq!(deleted.code, 0, "{deleted:?}");
    assert_eq!(deleted.out, format!("deleted {id}  drive:generic-5400  after\n"));
    assert_eq!(drivelab(folder.path(), &["history"]).out, "no runs\n");
}

#[test]
fn kept_runs_are_named_and_deleted_by_their_label() {
    let folder = folder();
    for seed in ["1", "2"] {
        drivelab(folder.path(), &[&RUN[..], &["--seed", seed]].concat());
    }
    let said = drivelab(folder.path(), &["label", "old", "label:before", "--json"]).json();
    assert_eq!(said["runs"].as_array().unwrap().len(), 2);
    assert_eq!(listed(folder.path(), &["--label", "old"]).len(), 2);
    drivelab(folder.path(), &["history", "--parts", "label:old"]).failed(2, &["means 2 runs"]);
    drivelab(folder.path(), &["delete", "label:old"])
        .failed(2, &["no terminal to ask on before deleting 2 runs", "--yes"]);
    drivelab(folder.path(), &["delete", "label:before", "--yes"]).failed(2, &["no run"]);
    let said = drivelab(folder.path(), &["delete", "label:old", "--yes", "--json"]).json();
    assert_eq!(said["deleted"].as_array().unwrap().len(), 2);
    assert_eq!(listed(folder.path(), &[]).len(), 0);
}

#[test]
fn a_figure_that_no_run_has_is_refused_with_its_nearest() {
    let folder = folder();
    let asked = |metric: &str| drivelab(folder.path(), &["history", "--metric", metric]);
    assert_eq!(asked("zzz").out, "no runs\n", "an empty archive knows no figure");
    drivelab(folder.path(), &RUN);
    asked("lat_p51_ns")
        .failed(2, &["no kept run has a figure `lat_p51_ns`", "did you mean `lat_p50_ns`?"]);
    asked("zzz")
        .failed(2, &["no kept run has a figure `zzz`", "figures of kept runs: `", "`iops`"]);
    // That none of these runs has it is an answer.
    let narrow = drivelab(folder.path(), &["history", "--metric", "iops", "--suite", "bonnie"]);
    assert_eq!((narrow.code, narrow.out.as_str()), (0, "no runs\n"));
}

#[test]
fn archives_are_filled_merged_and_checked() {
    let folder = folder();
    let run = drivelab(folder.path(), &[&RUN[..], &["--json", "--archive", "one.db"]].concat());
    file(folder.path(), "run.json", &run.out);
    let two = |words: &[&str]| {
        drivelab(folder.path(), &[&["archive"], words, &["--archive", "two.db", "--json"]].concat())
    };
    assert_eq!(two(&["import", "run.json"]).json()["added"], 1);
    let merged = two(&["merge", "one.db"]).json();
    assert_eq!((&merged["added"], &merged["present"]), (&1.into(), &0.into()));
    let checked = two(&["check"]).json();
    assert_eq!((&checked["whole"], &checked["damage"]), (&2.into(), &serde_json::json!([])));
    two(&["merge", "missing.db"]).failed(2, &["does not exist"]);
    for verb in [["archive", "check"].as_slice(), &["history"], &["show", "label:a"]] {
        let missing = [verb, &["--archive", "mistyped.db"]].concat();
        drivelab(folder.path(), &missing).failed(2, &["`mistyped.db` does not exist"]);
    }
    two(&["merge", "run.json"]).failed(2, &["`run.json` is not an archive", "import run.json"]);
    drivelab(folder.path(), &["history", "--archive", "run.json"]).failed(2, &["not an archive"]);
    two(&["import", "missing.json"]).failed(2, &["missing.json"]);
    two(&["import", "."]).failed(2, &["is not the results folder of a study", "study.toml"]);
}

#[test]
fn kept_runs_are_shown_exported_and_compared() {
    let folder = folder();
    let printed = drivelab(folder.path(), &RUN).out;
    let first = drivelab(folder.path(), &["history", "--json"]).json();
    let id = first["runs"][0]["id"].as_str().unwrap().to_owned();
    let other = [&RUN[..5], &["after", "--seed", "7", "--json"]].concat();
    let again = drivelab(folder.path(), &other).json();
    assert_eq!(drivelab(folder.path(), &["show", &id[..20]]).out, printed);
    assert_eq!(drivelab(folder.path(), &["show", "label:after", "--json"]).json(), again);
    let csv = drivelab(folder.path(), &["export", "label:after", "--format", "csv"]).out;
    assert!(csv.contains("1,after,"), "{csv}");
    let said = drivelab(folder.path(), &["compare", "label:before", "label:after", "--json"]);
    let arms = said.json()["arms"].clone();
    assert_eq!((&arms[0]["name"], &arms[1]["name"]), (&"before".into(), &"after".into()));
    drivelab(folder.path(), &["show", "label:other"])
        .failed(2, &["no run `label:other` in the archive", "drivelab history"]);
    file(folder.path(), "0A", "no result");
    drivelab(folder.path(), &["show", "0A"]).failed(2, &["not the output of a known tool"]);
}

/// The runs that a list shows.
fn listed(folder: &Path, words: &[&str]) -> Vec<serde_json::Value> {
    let said = drivelab(folder, &[&["history", "--json"], words].concat());
    said.json()["runs"].as_array().unwrap().clone()
}

#[test]
fn a_study_is_one_run_with_its_parts_and_is_shown_as_it_was() {
    let folder = folder();
    file(folder.path(), "small.toml", SMALL);
    let study = ["study", "small.toml", "--explain", "--blocks", "6"];
    let study = [&study[..], &["--label", "spindle", "--tag", "nightly"]].concat();
    let printed = drivelab(folder.path(), &study);
    let runs = listed(folder.path(), &[]);
    assert_eq!(runs.len(), 1, "{runs:?}");
    assert_eq!((&runs[0]["origin"], &runs[0]["parts"]), (&"study".into(), &12.into()));
    assert_eq!((&runs[0]["label"], &runs[0]["suite"]), (&"spindle".into(), &"small".into()));
    assert_eq!(runs[0]["primary"]["name"], "read.iops.ratio");
    assert_eq!(listed(folder.path(), &["--label", "nightly"]).len(), 1);
    let id = runs[0]["id"].as_str().unwrap();
    assert_eq!(listed(folder.path(), &["--parts", id]).len(), 12);
    let shown = drivelab(folder.path(), &["show", "label:spindle"]);
    assert_eq!(shown.out, printed.out);
    let result = fs::read_to_string(folder.path().join("drivelab-results/small/result.json"));
    let json = drivelab(folder.path(), &["show", id, "--json"]).out;
    assert_eq!(json.trim_end(), result.unwrap().trim_end());
    // To show a finished study again keeps nothing again, and neither does its folder.
    drivelab(folder.path(), &["study", "small.toml", "--resume"]);
    let imported = ["archive", "import", "drivelab-results/small", "--archive", "own.db", "--json"];
    let once = drivelab(folder.path(), &imported).json();
    assert_eq!((&once["added"], &once["present"]), (&1.into(), &0.into()));
    assert_eq!(drivelab(folder.path(), &imported).json()["present"], 1);
    assert_eq!(listed(folder.path(), &[]).len(), 1);
    let folder_shown = drivelab(folder.path(), &["show", "drivelab-results/small"]);
    assert_eq!(folder_shown.out, printed.out);
    drivelab(folder.path(), &["delete", id, "--yes"]);
    let checked = drivelab(folder.path(), &["archive", "check", "--json"]).json();
    assert_eq!(checked["whole"], 0, "parts go with their whole");
}

#[test]
fn job_files_measurements_and_results_of_other_tools_are_kept() {
    let folder = folder();
    let jobs = "[global]\nfilename=drive:generic-5400\nnumber_ios=50\n[one]\nrw=randread\n\
                [two]\nstonewall\nrw=read\n";
    file(folder.path(), "two.fio", jobs);
    let printed = drivelab(folder.path(), &["run", "--job", "two.fio", "--json"]);
    assert_eq!(printed.code, 0, "{printed:?}");
    // A job file that gives the same figures again is another run.
    let again = ["run", "--job", "two.fio", "--tag", "again", "--archive", "twice.db"];
    for _ in 0..2 {
        assert_eq!(drivelab(folder.path(), &again).code, 0);
    }
    assert_eq!(listed(folder.path(), &["--archive", "twice.db"]).len(), 2);
    let measured = ["drive", "measure", "drive:generic-5400", "--out", "m.toml"];
    assert_eq!(drivelab(folder.path(), &measured).code, 0);
    file(folder.path(), "h.json", HYPERFINE);
    // A result of another tool bears the time of its file.
    let day = SystemTime::UNIX_EPOCH + Duration::from_secs(1_577_836_800);
    let opened = fs::OpenOptions::new().write(true).open(folder.path().join("h.json")).unwrap();
    opened.set_modified(day).unwrap();
    let import = ["archive", "import", "h.json", "--label", "sleep"];
    assert_eq!(drivelab(folder.path(), &import).code, 0);
    let runs = listed(folder.path(), &[]);
    let origins: Vec<&str> = runs.iter().filter_map(|run| run["origin"].as_str()).collect();
    assert_eq!(origins, ["import", "jobs", "measure"]);
    assert_eq!(runs[0]["time"], "2020-01-01T00:00:00Z", "{:?}", runs[0]);
    let id = |place: usize| runs[place]["id"].as_str().unwrap().to_owned();
    assert_eq!((&runs[1]["parts"], &runs[1]["suite"]), (&2.into(), &"two".into()));
    let shown = drivelab(folder.path(), &["show", &id(1), "--json"]).json();
    assert_eq!(shown, printed.json());
    let text = drivelab(folder.path(), &["show", &id(1)]).out;
    assert!(text.starts_with("2 runs\n\nrun  IOPS"), "{text}");
    let csv = drivelab(folder.path(), &["export", &id(1), "--format", "csv"]).out;
    assert!(csv.contains("one.iops") && csv.contains("two.bytes_per_s"), "{csv}");
    let file = fs::read_to_string(folder.path().join("m.toml")).unwrap();
    assert_eq!(drivelab(folder.path(), &["show", &id(2)]).out.trim_end(), file.trim_end());
    assert_eq!(runs[2]["primary"]["name"], "randread_1.iops");
    let shown = drivelab(folder.path(), &["show", "label:sleep"]).out;
    assert!(shown.starts_with("hyperfine"), "{shown}");
}

#[test]
fn runs_of_labels_are_compared_as_files_of_the_same_runs() {
    let folder = folder();
    let run = |label: &str, drive: &str, seed: u64| {
        let seed = seed.to_string();
        let words = ["run", drive, "--rw=randread", "--number_ios=200", "--label", label];
        drivelab(folder.path(), &[&words[..], &["--seed", &seed, "--json"]].concat()).out
    };
    for (label, drive) in [("old", "drive:generic-5400"), ("new", "drive:seagate-st31000333as")] {
        // A copy of a run is no second one.
        let runs: String = (1..8).chain([3]).map(|seed| run(label, drive, seed)).collect();
        file(folder.path(), &format!("{label}.json"), &runs);
    }
    for option in ["--json", "--unpaired", "--factor=controller"] {
        let of = |words: &[&str]| {
            let found = drivelab(folder.path(), &[&["compare", option], words].concat());
            (found.code, found.out)
        };
        assert_eq!(of(&["label:old", "label:new"]), of(&["old.json", "new.json"]), "{option}");
    }
    // A label may have results of another tool.
    file(folder.path(), "tool.json", HYPERFINE);
    let kept = drivelab(folder.path(), &["archive", "import", "tool.json", "--label", "tool"]);
    assert_eq!(kept.code, 0, "{kept:?}");
    drivelab(folder.path(), &["compare", "label:old", "label:tool"])
        .failed(2, &["no metric in common: `old` has `iops`"]);
}

#[test]
fn runs_are_compared_by_time_and_only_with_runs_of_the_same_work() {
    let folder = folder();
    drivelab(folder.path(), &RUN);
    drivelab(folder.path(), &[&RUN[..5], &["before", "--seed", "2"]].concat());
    let compared =
        drivelab(folder.path(), &["compare", "@today", "@today,label=before", "--json"]).json();
    assert_eq!(compared["arms"][1]["name"], "@today,label=before");
    drivelab(folder.path(), &["compare", "@last-week", "@today"])
        .failed(2, &["no run `@last-week`"]);
    drivelab(folder.path(), &["compare", "@tomorrow", "@today"]).failed(2, &["is not a time"]);
    drivelab(folder.path(), &["run", "drive:generic-5400", "--rw=read", "--number_ios=50"]);
    drivelab(folder.path(), &["compare", "@today", "label:before"])
        .failed(2, &["different work", "@today,label=NAME"]);
}

#[test]
fn reports_are_written_in_every_format_and_over_no_other_file() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let run = drivelab(folder.path(), &[&RUN[..], &["--report", "run.html"]].concat());
    assert_eq!(run.code, 0, "{run:?}");
    let page = fs::read_to_string(path("run.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("before"));
    for format in ["html", "md", "csv", "svg", "json", "txt"] {
        let name = format!("out.{format}");
        let said = drivelab(folder.path(), &["report", "label:before", "--out", &name]);
        assert_eq!(said.code, 0, "{said:?}");
        let printed = drivelab(folder.path(), &["report", "label:before", "--format", format]).out;
        let written = fs::read_to_string(path(&name)).unwrap();
        assert_eq!(written.trim_end(), printed.trim_end(), "{format}");
        if ["html", "md", "csv", "svg"].contains(&format) {
            let again = drivelab(folder.path(), &["report", "label:before", "--out", &name]);
            assert_eq!(again.code, 0, "{again:?}");
        }
    }
    file(folder.path(), "README.md", "# mine\n");
    drivelab(folder.path(), &["report", "label:before", "--out", "README.md"])
        .failed(2, &["exists and is not a report of drivelab"]);
    drivelab(folder.path(), &[&RUN[..5], &["after", "--seed", "2"]].concat());
    let both = drivelab(folder.path(), &["report", "label:before", "label:after"]).out;
    assert!(both.contains("after against before") && both.contains("How to repeat it"));
    drivelab(folder.path(), &["report", "label:none"]).failed(2, &["no run `label:none`"]);
    let hostile = "<script>alert(1)</script>'; DROP TABLE runs; --";
    drivelab(folder.path(), &[&RUN[..5], &[hostile, "--seed", "3"]].concat());
    let shown = drivelab(folder.path(), &["report", &format!("label:{hostile}")]).out;
    assert!(shown.contains("&lt;script&gt;alert(1)") && !shown.contains("<script>alert"));
    assert_eq!(listed(folder.path(), &[]).len(), 3);
}

#[test]
fn an_archive_from_before_the_first_release_is_refused_with_a_way_to_keep_its_runs() {
    let folder = folder();
    let old = rusqlite::Connection::open(folder.path().join("old.db")).unwrap();
    old.execute_batch(
        "CREATE TABLE steps (name TEXT); INSERT INTO steps VALUES ('2026-11-23-runs')",
    )
    .unwrap();
    let refused = drivelab(folder.path(), &["history", "--archive", "old.db"]);
    refused.failed(3, &["before its first release", "mv old.db old.db.old", "archive import"]);
    let mut run = command(folder.path(), &RUN[..4]);
    let printed = said(run.env("DRIVELAB_ARCHIVE", "old.db").output().unwrap());
    printed.failed(0, &["not archived", "mv old.db old.db.old", "--no-archive"]);
    fs::rename(folder.path().join("old.db"), folder.path().join("old.db.old")).unwrap();
    let again = command(folder.path(), &RUN).env("DRIVELAB_ARCHIVE", "old.db").output().unwrap();
    assert!(!said(again).err.contains("not archived"));
}

#[test]
fn the_name_of_no_file_and_no_run_makes_no_archive() {
    let folder = folder();
    file(folder.path(), "before.json", "{}");
    for typed in ["aftr.json", "aftr", "0after", "label:after", "@today"] {
        for words in [&["compare", "before.json", typed][..], &["show", typed]] {
            let refused = drivelab(folder.path(), words);
            assert_ne!(refused.code, 0, "{refused:?}");
        }
        let refused = drivelab(folder.path(), &["show", typed]);
        let is_missing =
            ["does not exist", "No such file"].iter().any(|it| refused.err.contains(it));
        assert!(is_missing && refused.code == 2, "{refused:?}");
    }
    assert!(!folder.path().join(".kept").exists());
}

#[test]
fn a_results_folder_that_cannot_be_read_is_not_called_another_folder() {
    let folder = folder();
    fs::create_dir(folder.path().join("results")).unwrap();
    drivelab(folder.path(), &["show", "results"]).failed(2, &["is not the results folder"]);
    std::os::unix::fs::symlink("study.toml", folder.path().join("results/study.toml")).unwrap();
    drivelab(folder.path(), &["show", "results"])
        .failed(3, &["cannot read `results/study.toml`", "symbolic link"]);
}

#[test]
fn runs_whose_digests_are_damaged_or_of_another_version_are_compared_by_their_records() {
    let folder = folder();
    for seed in 1..=12 {
        let label = if seed % 2 == 0 { "even" } else { "odd" };
        let load = ["--rw=randread", "--number_ios=200", "--label", label, "--archive", "runs.db"];
        let run = ["run", "drive:generic-5400", "--seed", &seed.to_string()];
        assert_eq!(drivelab(folder.path(), &[&run[..], &load].concat()).code, 0);
    }
    let compare = ["compare", "label:odd", "label:even", "--archive", "runs.db", "--json"];
    let with_digests = drivelab(folder.path(), &compare);
    let archive = rusqlite::Connection::open(folder.path().join("runs.db")).unwrap();
    for (offset, change) in
        [(0, "content = x'00'"), (4, "version = '0', figures = x''"), (8, "flaws = '['")]
    {
        let some = format!("SELECT run FROM digests ORDER BY run LIMIT 4 OFFSET {offset}");
        let changed = format!("UPDATE digests SET {change} WHERE run IN ({some})");
        assert_eq!(archive.execute(&changed, []).unwrap(), 4);
    }
    let without = drivelab(folder.path(), &compare);
    assert_eq!((without.code, &without.out), (with_digests.code, &with_digests.out));
}

#[test]
fn runs_of_labels_are_compared_without_their_records() {
    let folder = folder();
    for seed in 1..=12 {
        let label = if seed % 2 == 0 { "even" } else { "odd" };
        let load = ["--rw=randread", "--number_ios=200", "--label", label, "--archive", "runs.db"];
        let run = ["run", "drive:generic-5400", "--seed", &seed.to_string()];
        assert_eq!(drivelab(folder.path(), &[&run[..], &load].concat()).code, 0);
    }
    let compare = ["compare", "label:odd", "label:even", "--archive", "runs.db", "--json"];
    let with_records = drivelab(folder.path(), &compare);
    let archive = rusqlite::Connection::open(folder.path().join("runs.db")).unwrap();
    archive.execute("UPDATE records SET record = x'00'", []).unwrap();
    let without = drivelab(folder.path(), &compare);
    assert_eq!((without.code, &without.out), (with_records.code, &with_records.out));
    assert_eq!(with_records.json()["schema"], "drivelab.compare/1");
}

#[test]
fn runs_of_one_import_are_kept_in_the_order_of_the_file() {
    let folder = folder();
    let mut runs = String::new();
    for seed in 1..=20 {
        let run = ["run", "drive:generic-5400", "--rw=randread", "--number_ios=50", "--seed"];
        let said = drivelab(
            folder.path(),
            &[&run[..], &[&seed.to_string(), "--json", "--no-archive"]].concat(),
        );
        let mut run = said.json();
        run["label"] = format!("run {seed}").into();
        runs += &format!("{run}\n");
    }
    file(folder.path(), "runs.json", &runs);
    let kept = drivelab(folder.path(), &["archive", "import", "runs.json"]);
    assert_eq!(kept.code, 0, "{kept:?}");
    let listed = drivelab(folder.path(), &["history", "--last", "0", "--json"]).json();
    let labels = listed["runs"].as_array().unwrap().iter().map(|run| run["label"].clone());
    let expected: Vec<_> = (1..=20).map(|seed| format!("run {seed}")).collect();
    assert_eq!(labels.collect::<Vec<_>>(), expected);
}

#[cfg(not(feature = "postgres"))]
#[test]
fn a_build_without_postgresql_says_how_to_get_it() {
    let folder = folder();
    let place = "postgres://lab:secret@db/runs";
    let refused = drivelab(folder.path(), &["history", "--archive", place]);
    refused.failed(3, &["built without PostgreSQL", "--features postgres", "--archive FILE"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "no file of that name is made");
    let merged = drivelab(folder.path(), &["archive", "merge", place, "--archive", "own.db"]);
    merged.failed(3, &["built without PostgreSQL"]);
}

#[cfg(feature = "postgres")]
#[test]
fn an_address_that_is_none_is_refused_without_its_password() {
    let folder = folder();
    let opened = |place: &str| {
        let refused = drivelab(folder.path(), &["history", "--archive", place]);
        assert!(!refused.err.contains("secret"), "{refused:?}");
        refused
    };
    opened("postgres://lab:secret@db.invalid/runs")
        .failed(3, &["cannot open the archive `postgres://lab@db", "hint", "psql"]);
    let wrong = |options: &str, words: &str| {
        opened(&format!("postgres://lab:secret@db{options}"))
            .failed(2, &[words, "hint", "sslmode"]);
    };
    wrong(":x/runs", "port");
    wrong("/runs?sslmode=allow", "not one of disable, prefer");
    wrong("/runs?sslmode=require&sslmode=disable", "given twice");
    opened("postgres://lab:secret@db/runs?sslmode=verify-full&sslrootcert=/nonexistent.pem")
        .failed(3, &["`/nonexistent.pem`", "No such file", "PEM"]);
}
