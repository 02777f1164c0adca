//! A study whose modelled drives are served in real time and measured through the kernel.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{Said, drivelab, file, folder, left_out};

const STUDY: &str = r#"
title = "Does a service time show?"
primary = "read.iops"
blocks = 1
[base]
drive = "DRIVE"
[[arm]]
name = "one"
[[arm]]
name = "two"
drive = "DRIVE"
[[workload]]
name = "read"
rw = "randread"
iodepth = 1
number_ios = 50
"#;

fn emulate(folder: &Path, service: &str) -> Said {
    emulate_study(folder, service, STUDY)
}

fn emulate_study(folder: &Path, service: &str, study: &str) -> Said {
    let drive = format!(
        "[drive]\nkind = \"fixed\"\nmodel = \"test\"\ncapacity_bytes = 1_000_000_000\n\
         [fixed]\nservice = \"{service}\"\nservers = 1\n"
    );
    file(folder, "drive.toml", &drive);
    file(folder, "study.toml", &study.replace("DRIVE", "drive.toml"));
    drivelab(folder, &["study", "study.toml", "--stage", "emulate", "--out", "out", "--json"])
}

/// Whether this machine mounts files, as the tests of served drives find out.
fn has_fuse() -> bool {
    Path::new("/dev/fuse").exists()
}

#[test]
fn a_model_is_served_and_measured_and_says_how_late_it_was() {
    let folder = folder();
    if !has_fuse() {
        return left_out("stage emulate", "no /dev/fuse");
    }
    let said = emulate(folder.path(), "4ms");
    if said.code == 3 {
        // The answer of a machine that was too busy; what it kept is checked all the same.
        assert!(said.err.contains("too late") && said.err.contains("are kept in"), "{said:?}");
    } else {
        assert!([0, 1, 4].contains(&said.code), "{said:?}");
        let result: Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(result["stage"], "emulate");
        let notes = result["notes"].to_string();
        assert!(notes.contains("Emulated:") && notes.contains("Lateness of the server"), "{notes}");
    }
    let text = fs::read_to_string(folder.path().join("out/runs.jsonl")).unwrap();
    let runs: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(runs.len(), 2);
    for run in runs {
        let record = &run["record"];
        assert_eq!(record["marks"][0]["id"], "emulated", "{record}");
        // The measuring program may have read a block before the run, to find its bearings.
        assert!(record["served"]["ios"].as_u64().unwrap() >= 50, "{record}");
        // However busy this machine is, no answer comes before the model gives it.
        assert!(record["total"]["lat_ns"]["min"].as_u64().unwrap() >= 4_000_000, "{record}");
    }
}

#[test]
fn only_the_measured_command_counts() {
    let folder = folder();
    if !has_fuse() {
        return left_out("stage emulate", "no /dev/fuse");
    }
    let (loads, _) = STUDY.split_once("[[workload]]").unwrap();
    let write = "dd if=/dev/zero of={target} bs=4096 count=200 oflag=direct conv=notrunc";
    let read = "dd if={target} of=/dev/null bs=4096 count=10 iflag=direct";
    let study = format!(
        "{loads}[[workload]]\nname = \"read\"\nprepare = \"{write}\"\ncommand = \"{read}\"\n\
         check = \"{write}\"\nreset = \"{write}\"\n"
    );
    let said = emulate_study(folder.path(), "1ms", &study.replace("read.iops", "read.wall_ns"));
    let text = fs::read_to_string(folder.path().join("out/runs.jsonl"));
    let text = text.unwrap_or_else(|_| panic!("{said:?}"));
    for line in text.lines() {
        let run: Value = serde_json::from_str(line).unwrap();
        assert_eq!(run["record"]["served"]["ios"], 10, "{line}");
    }
    assert_eq!(text.lines().count(), 2, "{said:?}");
}

#[test]
fn a_drive_too_fast_for_this_host_is_refused_by_name() {
    let folder = folder();
    if !has_fuse() {
        return left_out("stage emulate", "no /dev/fuse");
    }
    let said = emulate(folder.path(), "1us");
    said.failed(3, &["drive.toml", "virtual time", "this is arm `one`"]);
    assert!(!folder.path().join("out/runs.jsonl").exists(), "nothing was begun");
}
