//! Arms with a drive or a target of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::common::{Said, drivelab, file, folder};

/// One arm on a drive of 7200 rpm, one on the same drive with a tenth more.
const DRIVES: &str = r#"
title = "Does a tenth more rotation help?"
primary = "sequential.bytes_per_s"
blocks = 6

[[arm]]
name = "one"
drive = "seagate-st31000333as"

[[arm]]
name = "other"
drive = "fast.toml"

[[workload]]
name = "sequential"
rw = "read"
bs = "1M"
iodepth = 2
runtime = "2s"

[[workload]]
name = "random"
rw = "randread"
runtime = "2s"
"#;

/// The fast drive: but for its rotation the one that it is held against.
const FAST: &str = "base = \"seagate-st31000333as\"\nmodel = \"Fast\"\nrpm = 7920\n";

fn modelled(folder: &Path, study: &str, more: &[&str]) -> Said {
    file(folder, "fast.toml", FAST);
    file(folder, "drives.toml", study);
    let mut arguments = vec!["study", "drives.toml", "--json"];
    arguments.extend(more);
    drivelab(folder, &arguments)
}

fn ratio(result: &Value, name: &str) -> f64 {
    let metrics = result["metrics"].as_array().expect("a list of metrics");
    let metric = metrics.iter().find(|metric| metric["name"] == name);
    metric.unwrap_or_else(|| panic!("no {name}"))["ratio"].as_f64().expect("a ratio")
}

/// The study with its two drives in each other's place.
fn swapped() -> String {
    let study = DRIVES.replace("\"fast.toml\"", "\"FIRST\"");
    study
        .replace("\"seagate-st31000333as\"", "\"fast.toml\"")
        .replace("FIRST", "seagate-st31000333as")
}

#[test]
fn two_drives_are_two_arms() {
    let folder = folder();
    let result = modelled(folder.path(), DRIVES, &[]).json();
    // A sequential stream waits for the rotation, and 0.8 ms at the end of each track for the next
    // head: (8.333 + 0.8) / (7.576 + 0.8).
    let sequential = ratio(&result, "sequential.bytes_per_s");
    assert!((sequential - 1.0904).abs() < 0.005, "{sequential}");
    let random = ratio(&result, "random.iops");
    assert!((1.0..1.1).contains(&random), "{random}");
    assert_eq!(result["attached"]["factors"], serde_json::json!(["drive"]));
    assert_eq!(result["attached"]["warnings"], serde_json::json!([]));
    let notes = result["notes"].to_string();
    assert!(notes.contains("the models of Fast and Seagate ST31000333AS"), "{notes}");

    let mirrored = modelled(folder.path(), &swapped(), &["--out", "swapped"]).json();
    for name in ["sequential.bytes_per_s", "random.iops", "random.lat_mean_ns"] {
        let product = ratio(&result, name) * ratio(&mirrored, name);
        assert!((product - 1.0).abs() < 1e-9, "{name}: {product}");
    }

    let same = DRIVES.replace("\"fast.toml\"", "\"seagate-st31000333as\"");
    let itself = modelled(folder.path(), &same, &["--out", "itself"]).json();
    for metric in itself["metrics"].as_array().unwrap() {
        assert_eq!(metric["ratio"], 1.0, "{metric}");
        assert_eq!(metric["verdict"], "no-practical-difference", "{metric}");
    }
}

#[test]
fn an_arm_s_drive_goes_before_the_one_of_the_base() {
    let folder = folder();
    let base =
        "[base]\ndrive = \"seagate-st31000333as,controller=ide\"\nwrite-cache = \"on\"\n\n[[arm]]";
    let study =
        DRIVES.replacen("[[arm]]", base, 1).replace("drive = \"seagate-st31000333as\"\n", "");
    let study = study.replace("\"fast.toml\"", "\"fast.toml,write-cache=off\"");
    let result = modelled(folder.path(), &study, &[]).json();
    let value = |arm: usize, name: &str| {
        let settings = result["arms"][arm]["settings"].to_string();
        settings.contains(name)
    };
    assert!(value(0, "ide") && !value(1, "ide"), "{}", result["arms"]);
    assert_eq!(
        result["attached"]["factors"],
        serde_json::json!(["controller", "drive", "write-cache"])
    );
    let study = DRIVES.replace("drive = \"fast.toml\"\n", "");
    modelled(folder.path(), &study, &[]).failed(2, &["arm `other` names no drive", "[base]"]);
    let study = DRIVES.replace("fast.toml", "generic-5400,tags=0");
    modelled(folder.path(), &study, &["--out", "wrong"]).failed(2, &["from 1 to 256"]);
}

#[test]
fn drives_of_different_size_are_asked_for_the_same_addresses() {
    let folder = folder();
    let study = DRIVES.replace("fast.toml", "generic-5400");
    let result = modelled(folder.path(), &study, &[]).json();
    let notes = result["notes"].to_string();
    assert!(notes.contains("each arm uses the first"), "{notes}");
    let runs =
        fs::read_to_string(folder.path().join("drivelab-results/drives/runs.jsonl")).unwrap();
    let size = |line: &str| {
        let run: Value = serde_json::from_str(line).unwrap();
        run["record"]["config"]["workload"]["size"].clone()
    };
    let sizes: Vec<Value> = runs.lines().map(size).collect();
    assert!(sizes.iter().all(|size| !size.is_null() && *size == sizes[0]), "{sizes:?}");
}

#[test]
fn only_some_workloads_are_run_and_remembered() {
    let folder = folder();
    let whole = modelled(folder.path(), DRIVES, &[]).json();
    let only = modelled(folder.path(), DRIVES, &["--only", "sequential", "--out", "only"]).json();
    let sequential = |result| ratio(result, "sequential.bytes_per_s").to_bits();
    assert_eq!(sequential(&whole), sequential(&only));
    assert!(!only["metrics"].to_string().contains("random"), "{only}");
    let repeat = only["reproduce"].to_string();
    assert!(repeat.contains("--only sequential"), "{repeat}");
    let begun = folder.path().join("only");
    fs::remove_file(begun.join("result.json")).unwrap();
    let journal = fs::read_to_string(begun.join("runs.jsonl")).unwrap();
    let half: Vec<&str> = journal.split_inclusive('\n').take(5).collect();
    fs::write(begun.join("runs.jsonl"), half.concat()).unwrap();
    let resume = |more: &[&str]| {
        let resume = ["--resume", "--out", "only"];
        modelled(folder.path(), DRIVES, &[&resume[..], more].concat())
    };
    resume(&["--only", "sequential,random"]).failed(2, &["other workloads (sequential, now"]);
    assert_eq!(resume(&[]).json()["metrics"], only["metrics"]);
    let wrong = |only: &str, words: &[&str]| {
        modelled(folder.path(), DRIVES, &["--only", only, "--out", "no"]).failed(2, words);
    };
    wrong("random", &["`sequential` must be among the workloads"]);
    wrong("sequential,rando", &["no workload `rando`", "`random`"]);
}

/// Two files as two arms.
const FILES: &str = r#"
title = "Is one place faster than the other?"
primary = "read.iops"
margin = "50%"
blocks = 6

[[arm]]
name = "one"
target = "one/data"

[[arm]]
name = "other"
target = "other/data"

[[workload]]
name = "read"
rw = "randread"
number_ios = 40
runtime = "5s"
"#;

fn runs(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("runs.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn two_targets_are_two_arms() {
    let folder = folder();
    for (name, length) in [("one", 9 << 20), ("other", 5 << 20)] {
        fs::create_dir(folder.path().join(name)).unwrap();
        let blocks = vec![0xA5_u8; length];
        fs::write(folder.path().join(name).join("data"), blocks).unwrap();
    }
    file(folder.path(), "files.toml", FILES);
    let said = drivelab(folder.path(), &["study", "files.toml", "--json"]);
    assert!([0, 1, 4].contains(&said.code), "{said:?}");
    let result = said.json();
    assert_eq!(result["stage"], "hardware", "the targets say where it runs");
    assert!(said.err.contains("at most 60 s: 12 runs of 5 s"), "{said:?}");
    let kept = folder.path().join("drivelab-results/files");
    let all = runs(&kept);
    assert_eq!(all.len(), 12);
    for run in &all {
        let name = if run["step"]["arm"] == 0 { "one/data" } else { "other/data" };
        assert!(run["record"]["target"].as_str().unwrap().ends_with(name), "{run}");
        // The smaller file is the region of both.
        assert_eq!(run["record"]["config"]["workload"]["size"], "5M", "{run}");
    }
    let notes = result["notes"].to_string();
    assert!(notes.contains("`one` on ") && notes.contains("`other` on "), "{notes}");

    // It goes on from anywhere, on the same files.
    fs::remove_file(kept.join("result.json")).unwrap();
    let journal = fs::read_to_string(kept.join("runs.jsonl")).unwrap();
    let half: Vec<&str> = journal.split_inclusive('\n').take(5).collect();
    fs::write(kept.join("runs.jsonl"), half.concat()).unwrap();
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let out = kept.to_str().unwrap();
    let said = drivelab(&elsewhere, &["study", "--resume", "--out", out, "--json"]);
    assert!([0, 1, 4].contains(&said.code), "{said:?}");
    assert_eq!(runs(&kept).len(), 12);
    fs::remove_file(kept.join("result.json")).unwrap();
    fs::write(folder.path().join("other/data"), vec![0; 6 << 20]).unwrap();
    let said = drivelab(folder.path(), &["study", "--resume", "--out", out]);
    said.failed(2, &["another target", "other/data"]);
}

#[test]
fn a_study_that_names_drives_and_targets_must_say_where_it_runs() {
    let folder = folder();
    let both = FILES.replace("target = \"one/data\"", "target = \"one/data\"\ndrive = \"fixed\"");
    let both = both.replace("target = \"other/data\"", "target = \"x\"\ndrive = \"fixed\"");
    file(folder.path(), "both.toml", &both);
    let run =
        |more: &[&str]| drivelab(folder.path(), &[&["study", "both.toml"][..], more].concat());
    run(&[]).failed(2, &["--stage simulate or --stage hardware"]);
    assert_eq!(run(&["--stage", "simulate"]).code, 0);
    file(folder.path(), "files.toml", FILES);
    let said = drivelab(folder.path(), &["study", "files.toml", "--target", "third"]);
    said.failed(2, &["every arm names its own target", "omit --target"]);
    let missing = FILES.replace("target = \"other/data\"\n", "");
    file(folder.path(), "missing.toml", &missing);
    let said = drivelab(folder.path(), &["study", "missing.toml"]);
    said.failed(2, &["arm `other` has no target", "--target FILE"]);
}

/// A file system in an image, mounted.
struct Mounted {
    device: String,
    folder: PathBuf,
}

impl Mounted {
    /// `None` where this machine lets nobody mount one, or has no tool to make it.
    fn new(folder: &Path, kind: &str) -> Option<Self> {
        let image = folder.join(format!("{kind}.image"));
        // The smallest image that mkfs.xfs takes is 300 MiB.
        fs::File::create(&image).unwrap().set_len(320 << 20).unwrap();
        let image = image.to_str().unwrap();
        word(&format!("mkfs.{kind}"), &["-q", image])?;
        let device = word("losetup", &["-f", "--show", image])?;
        let mounted = Self { device, folder: folder.join(kind) };
        fs::create_dir(&mounted.folder).unwrap();
        word("mount", &[&mounted.device, mounted.folder.to_str().unwrap()])?;
        Some(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        word("umount", &[self.folder.to_str().unwrap()]);
        word("losetup", &["-d", &self.device]);
    }
}

/// What a command said, where it succeeded.
fn word(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let said = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    output.status.success().then_some(said)
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is left out says so")]
fn two_file_systems_are_two_arms() {
    let folder = folder();
    let mounted = ["ext4", "xfs"].map(|kind| Mounted::new(folder.path(), kind));
    let [Some(ext4), Some(xfs)] = &mounted else {
        let must = std::env::var_os("CI").is_some_and(|value| value == "true");
        assert!(!must, "with CI=true scripts/check installs mkfs, and loop devices can be mounted");
        eprintln!("LEFT OUT: two file systems, which takes root, loop devices and mkfs");
        return;
    };
    let path = |mounted: &Mounted| format!("\"{}/data\"", mounted.folder.display());
    let study = FILES.replace("\"one/data\"", &path(ext4)).replace("\"other/data\"", &path(xfs));
    file(folder.path(), "systems.toml", &study);
    let said = drivelab(folder.path(), &["study", "systems.toml", "--size", "16M", "--json"]);
    assert!([0, 1, 4].contains(&said.code), "{said:?}");
    let attached = &said.json()["attached"];
    assert_eq!(attached["factors"], serde_json::json!(["file-system"]), "{attached}");
    let differs = attached["differs"].as_array().unwrap();
    let system = differs.iter().find(|row| row["name"] == "file_system").expect("it differs");
    assert_eq!(system["values"], serde_json::json!(["ext4", "xfs"]));
    assert_eq!(system["declared"], true);
    let devices = [ext4.device.clone(), xfs.device.clone()];
    drop(mounted);
    let left = word("losetup", &["-a"]).unwrap();
    assert!(devices.iter().all(|device| !left.contains(&format!("{device}:"))), "{left}");
}
