//! Runs are kept, found again, named and deleted.

use crate::common::{drivelab, file, folder};

const RUN: [&str; 6] =
    ["run", "drive:generic-5400", "--rw=randread", "--number_ios=200", "--label", "before"];

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
    let own = drivelab(folder.path(), &["history", "--archive", "own.db", "--json"]).json();
    assert_eq!(own["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_run_that_cannot_be_kept_is_printed_all_the_same() {
    let folder = folder();
    file(folder.path(), "own.db", &"no archive at all, whatever it is called ".repeat(50));
    let said = drivelab(folder.path(), &[&RUN[..], &["--archive", "own.db"]].concat());
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("not archived") && said.err.contains("--no-archive"), "{said:?}");
    assert!(said.out.contains("IOPS"), "{said:?}");
    drivelab(folder.path(), &["history", "--archive", "own.db"])
        .failed(3, &["cannot open", "hint"]);
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
    drivelab(folder.path(), &["delete", "ZZZ", "--yes"]).failed(2, &["no run", "history"]);
    assert_eq!(drivelab(folder.path(), &["delete", id, "--yes"]).code, 0);
    assert_eq!(drivelab(folder.path(), &["history"]).out, "no runs\n");
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
    two(&["import", "missing.json"]).failed(2, &["missing.json"]);
    two(&["import", "."]).failed(2, &["is a directory", "not a folder"]);
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
