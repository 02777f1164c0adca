//! `run DIR --suite` and suites of files in studies.
//!
//! The page cache is never dropped: as root that would be the cache of the machine.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Child;
use std::thread;

use drivelab_core::Rng;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::common::{PROGRAM, begin, drivelab, file, folder, left_out, said, starter};

const FSMARK: &str = "fsmark,files=20,sync=0,drop=never";

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// How many entries there are below a folder, whatever vanishes meanwhile.
fn entries_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => 1 + entries_below(&entry.path()),
            _ => 1,
        })
        .sum()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_suite_gives_phases_is_kept_and_leaves_nothing() {
    let folder = folder();
    fs::create_dir(folder.path().join("disk")).unwrap();
    let run = |more: &[&str]| {
        let arguments = ["run", "disk", "--suite", FSMARK, "--label", "mine", "--seed", "7"];
        let said = drivelab(folder.path(), &[&arguments, more].concat());
        assert_eq!(said.code, 0, "{said:?}");
        assert_eq!(names(&folder.path().join("disk")), [""; 0]);
        said
    };
    let json = run(&["--json", "--out", "page"]).json();
    assert_eq!(json["schema"], "drivelab.run/1");
    assert_eq!(json["label"], "mine");
    assert_eq!(json["config"]["seed"], 7);
    let options = json!({"files": "20", "sync": "0", "drop": "never"});
    assert_eq!(json["config"]["suite"], json!({"name": "fsmark", "options": options}));
    assert!(json.get("jobs").is_none() && json.get("total").is_none(), "{json}");
    let phase = &json["phases"][0];
    assert!(phase["name"].is_string() && phase["nature"].is_string(), "{phase}");
    assert_eq!(phase["lat_ns"]["n"], 20);
    let figure = &phase["figures"][0];
    assert_eq!(figure["name"], "files_51200b");
    assert_eq!((&figure["unit"], &figure["better"]), (&json!("1/s"), &json!("more")));
    assert!(figure["value"].as_f64().unwrap() > 0.0, "{figure}");
    assert!(json["marks"].to_string().contains("the page cache was not dropped"), "{json}");
    assert_eq!(names(&folder.path().join("page")), ["report.html", "run.json"]);
    let text = run(&[]).out;
    assert!(text.contains("files 51200b") || text.contains("files_51200b"), "{text}");
    let kept = drivelab(folder.path(), &["history", "--json"]).json();
    assert_eq!(kept["runs"].as_array().unwrap().len(), 2, "{kept}");
    assert_eq!(kept["runs"][0]["suite"], "fsmark");
    assert_eq!(kept["runs"][0]["primary"]["name"], "files_51200b");
}

#[test]
fn what_a_suite_of_files_cannot_use_is_refused() {
    let folder = folder();
    let run = |arguments: &[&str]| drivelab(folder.path(), &[&["run"], arguments].concat());
    let help = run(&["--suite", "help"]);
    assert!(help.code == 0 && help.out.contains("fsmark"), "{help:?}");
    run(&["--suite", "fsmark"]).failed(2, &["no target", "run TARGET --suite fsmark"]);
    run(&[".", "--suite", "fsmrk"]).failed(2, &["did you mean `fsmark`"]);
    run(&[".", "--suite", "fsmark,fils=3"]).failed(2, &["did you mean `files`", "--suite help"]);
    run(&[".", "--suite", "fsmark", "--runtime", "5s"]).failed(2, &["--runtime"]);
    run(&[".", "--suite", "fsmark", "--loops", "2"]).failed(2, &["--loops"]);
    run(&[".", "--suite", "fsmark", "--iodepth", "2"]).failed(2, &["--iodepth"]);
    run(&["drive:generic-10k", "--suite", "fsmark"]).failed(2, &["name a folder"]);
    file(folder.path(), "data", "");
    run(&["data", "--suite", "fsmark"]).failed(2, &["not a folder"]);
    run(&["none/here", "--suite", "fsmark"]).failed(2, &["does not exist", "`mkdir -p none/here`"]);
}

/// Suites that make several hundred files.
const MANY: [&str; 3] = [
    "fsmark,files=600,size=4k,sync=0,threads=2,dirs=3,drop=never",
    "metadata,files=600,drop=never",
    "bonnie,size=256k,putc=8k,seeks=20,n=1:100:10:3,drop=never",
];

#[test]
fn a_suite_killed_at_any_moment_leaves_nothing_that_the_next_run_does_not_remove() {
    const SEED: u64 = 1;
    let mut rng = Rng::new(SEED);
    let folder = folder();
    let disk = folder.path().join("disk");
    fs::create_dir_all(disk.join("other")).unwrap();
    file(&disk, "other/data", "mine");
    let mut killed = 0;
    for turn in 0..12 {
        let suite = MANY[turn % MANY.len()];
        let kill_at = rng.below(900);
        let mut child = begin(&disk, &["run", ".", "--suite", suite, "--no-archive"]);
        // How far it is, and not the time, says when it is killed.
        while entries_below(&disk) < kill_at && child.try_wait().unwrap().is_none() {
            thread::yield_now();
        }
        signal(&child, Signal::KILL);
        killed += u32::from(child.wait().unwrap().signal().is_some());
        let about = format!("seed {SEED}, turn {turn}: `{suite}` killed at {kill_at} entries");
        let left = names(&disk);
        // A run makes its folder before it removes what others left, so the number may be 2.
        let own = ["drivelab-suite-1", "drivelab-suite-2", "other"];
        assert!(left.iter().all(|name| own.contains(&name.as_str())), "{about}: {left:?}");
        assert_eq!(fs::read_to_string(disk.join("other/data")).unwrap(), "mine", "{about}");
        assert_eq!(entries_below(&disk.join("other")), 1, "{about}");
    }
    assert!(killed > 3, "only {killed} runs were killed before they ended (seed {SEED})");
    let next = drivelab(&disk, &["run", ".", "--suite", FSMARK, "--no-archive"]);
    assert_eq!(next.code, 0, "{next:?}");
    assert_eq!(names(&disk), ["other"]);
    assert_eq!(names(folder.path()), ["disk"]);
}

#[test]
fn an_interrupt_keeps_the_phases_that_ended() {
    let folder = folder();
    // A hundred thousand empty files take seconds to create; the phases on the large file are short.
    // More would be refused where less than their space is free.
    let suite = "bonnie,size=64k,putc=0,seeks=0,n=100,drop=never";
    let mut child = begin(folder.path(), &["run", ".", "--suite", suite, "--json"]);
    let files = folder.path().join("drivelab-suite-1/files");
    while entries_below(&files) < 10 {
        let early = child.try_wait().unwrap();
        assert!(early.is_none(), "it ended: {:?}", said(child.wait_with_output().unwrap()));
        thread::yield_now();
    }
    signal(&child, Signal::INT);
    let said = said(child.wait_with_output().unwrap());
    assert_eq!(said.code, 130, "{said:?}");
    let json = said.json();
    let phases = json["phases"].as_array().unwrap().iter().map(|phase| phase["name"].clone());
    assert_eq!(phases.collect::<Vec<_>>(), ["put_block", "rewrite", "get_block"]);
    assert_eq!(json["marks"][1]["id"], "interrupted", "{json}");
    assert_eq!(names(folder.path()), [".kept"]);
}

#[test]
fn a_full_file_system_is_an_error_of_the_machine_and_is_left_clean() {
    let folder = folder();
    fs::create_dir(folder.path().join("disk")).unwrap();
    // Few inodes: the free space is enough when the suite begins.
    let script = "mount -t tmpfs -o size=64m,nr_inodes=40 tmpfs disk || exit 77; \"$0\" run disk \
                  --suite \"$1\" --no-archive; code=$?; ls -A disk; exit $code";
    let run = |suite: &str| {
        let mut unshare = starter(folder.path(), "unshare");
        unshare.args(["--mount", "sh", "-c", script, PROGRAM, suite]).output().map(said)
    };
    for suite in [
        "fsmark,files=100,sync=0,threads=3,drop=never",
        "metadata,files=100,drop=never",
        "copy,size=10m,sets=100k,drop=never",
    ] {
        match run(suite) {
            Ok(said) if said.code == 3 => {
                said.failed(3, &["error:", "hint:", "free some space"]);
                assert_eq!(said.out, "", "{suite}: something was left: {said:?}");
            }
            Ok(said) if said.code == 77 || said.err.contains("unshare") => {
                return left_out("a full file system", said.err);
            }
            Err(error) => return left_out("a full file system", error),
            Ok(said) => panic!("{suite}: {said:?}"),
        }
    }
    let large = run("fsmark,files=100000,drop=never").unwrap();
    large.failed(3, &["the suite needs", "free some space"]);
}

#[test]
fn a_suite_of_files_is_a_workload_of_a_study_of_real_files_only() {
    let folder = folder();
    fs::create_dir(folder.path().join("disk")).unwrap();
    let study = "title = \"Do subfolders matter?\"\nprimary = \"mail.files_4096b\"\nblocks = 6\n\
                 margin = \"50%\"\n[base]\ndrive = \"generic-10k\"\n[[arm]]\nname = \"a\"\n\
                 [[arm]]\nname = \"b\"\n[[workload]]\nname = \"mail\"\nsuite = \"fsmark\"\n\
                 files = 20\nsize = \"4k\"\nsync = 0\ndrop = \"never\"\n";
    file(folder.path(), "mail.toml", study);
    let run = |more: &[&str]| drivelab(folder.path(), &[&["study", "mail.toml"], more].concat());
    let said = run(&["--stage", "hardware", "--target", "disk", "--json"]);
    assert!([0, 1, 4].contains(&said.code), "{said:?}");
    let metric = &said.json()["metrics"][0];
    assert_eq!((&metric["name"], &metric["n"]), (&json!("mail.files_4096b"), &json!(6)));
    assert_eq!(names(&folder.path().join("disk")), [""; 0]);
    for stage in ["simulate", "emulate"] {
        let refused = run(&["--stage", stage]);
        refused.failed(2, &["no file system", "--stage hardware --target DIR"]);
    }
    file(folder.path(), "wrong.toml", &study.replace("files = 20", "fils = 20"));
    drivelab(folder.path(), &["study", "wrong.toml"]).failed(2, &["unknown key `fils`"]);
}
