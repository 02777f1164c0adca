//! One SIGINT or SIGTERM ends every verb, with what was measured kept.
//!
//! The rows are slow or endless. That a verb ends within two seconds is promised and not asserted
//! here: the limit of the test is so generous that only a verb that does not end exceeds it.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Said, begin, file, folder, said};

/// A verb that has not ended by then never will.
const LIMIT: Duration = Duration::from_secs(30);

/// A command that goes on for ever.
struct Row {
    arguments: &'static str,
    /// What lies in its folder; a `|` before the name makes a pipe whose
    /// writer keeps silent.
    files: &'static [(&'static str, &'static str)],
    /// When it is under way.
    ready: fn(&Path) -> bool,
    /// What it must leave.
    check: fn(&Path, &Said),
}

const ROW: Row = Row { arguments: "", files: &[], ready: |_| true, check: |_, _| () };

/// A pipe whose writer keeps silent.
const PIPE: &[(&str, &str)] = &[("|pipe", "")];

const MATRIX: &str = "targets = [\"data\"]\nread = [100]\nrandom = [100]\nthreads = [1]\n\
                      bs = [\"4k\"]\nruntime = \"1h\"\nsize = \"1M\"\ndirect = false\n";

const JOB: &str = "[a]\nfilename=data\nsize=1m\nrw=randread\ntime_based\nruntime=1h\n\
                   [b]\nstonewall\nfilename=data\nsize=1m\nrw=randread\n";

const STUDY: &str = "title = \"t\"\nprimary = \"w.iops\"\nblocks = 6\n\
                     stage = \"hardware\"\n\
                     [[arm]]\nname = \"a\"\napply = \"echo applied >>log\"\n\
                     revert = \"echo reverted >>log\"\n\
                     [[arm]]\nname = \"b\"\napply = \"echo applied >>log\"\n\
                     revert = \"echo reverted >>log\"\n\
                     [[workload]]\nname = \"w\"\nrw = \"randread\"\nruntime = \"1h\"\n";

/// The figures are those until the signal, and the document is whole.
fn figures(_: &Path, said: &Said) {
    let marks = said.json()["marks"].clone();
    let interrupted = |mark: &Value| mark["id"] == "interrupted";
    assert!(marks.as_array().unwrap().iter().any(interrupted), "{said:?}");
}

fn laid_out(folder: &Path) -> bool {
    folder.join("data").exists()
}

/// While the file is laid out there are no figures yet, and no file afterwards.
fn figures_of_a_file(folder: &Path, said: &Said) {
    if laid_out(folder) {
        figures(folder, said);
    }
}

/// Nothing was measured, so nothing is told.
fn silent(_: &Path, said: &Said) {
    // Nothing was read: nothing is known of what the pipe holds.
    assert!(!said.err.contains("holds no"), "{said:?}");
    assert_eq!(said.out, "", "{said:?}");
}

/// Every line that was begun is there.
fn whole_lines(path: &Path) {
    let text = fs::read_to_string(path).unwrap_or_default();
    for line in text.split_inclusive('\n') {
        assert!(line.ends_with('\n') && serde_json::from_str::<Value>(line).is_ok(), "{line}");
    }
}

fn rows() -> impl Iterator<Item = Row> {
    runs().into_iter().chain(studies()).chain(inputs()).chain(others())
}

/// Runs on a model, on files and of job files.
fn runs() -> Vec<Row> {
    vec![
        Row {
            arguments: "run drive:seagate-st31000333as --runtime 10000h --json",
            check: figures,
            ..ROW
        },
        Row {
            arguments: "run drive:generic-10k --rate-iops 100000 --runtime 10000h --json",
            check: figures,
            ..ROW
        },
        Row {
            arguments: "run data --size 1M --direct 0 --ioengine psync --runtime 1h --json",
            ready: laid_out,
            check: figures_of_a_file,
            ..ROW
        },
        Row {
            arguments: "run data --size 1M --direct 0 --ioengine psync --rate-iops 1000000 \
                        --numjobs 2 --runtime 1h --json",
            ready: laid_out,
            check: figures_of_a_file,
            ..ROW
        },
        Row { arguments: "run null --ioengine null --runtime 1h --json", check: figures, ..ROW },
        Row {
            arguments: "run data --size 256M --direct 0 --runtime 1h",
            ready: laid_out,
            check: |folder, _| {
                let length = fs::metadata(folder.join("data")).map(|meta| meta.len()).ok();
                assert!(length.is_none_or(|length| length == 256 << 20), "{length:?}");
            },
            ..ROW
        },
        Row {
            arguments: "run data --size 1M --direct 0 --rw randwrite --verify --runtime 1h --json",
            ready: |folder| folder.join("data.verify-state").exists(),
            check: |folder, said| {
                figures(folder, said);
                assert!(said.err.contains("--verify-only"), "{said:?}");
                let again = ["run", "data", "--verify-only"];
                // 4: the signal came before the first write was acknowledged.
                let code = crate::common::drivelab(folder, &again).code;
                assert!([0, 4].contains(&code), "{code}");
            },
            ..ROW
        },
        Row {
            arguments: "run --job long.fio --json",
            files: &[("long.fio", JOB)],
            ready: laid_out,
            ..ROW
        },
        Row {
            arguments: "run --matrix long.toml --out kept --json",
            files: &[("long.toml", MATRIX)],
            ready: laid_out,
            check: |folder, _| whole_lines(&folder.join("kept/runs.jsonl")),
        },
    ]
}

fn studies() -> Vec<Row> {
    vec![
        Row {
            arguments: "study ahci-or-ide --blocks 1000 --out kept --json",
            ready: |folder| folder.join("kept/runs.jsonl").exists(),
            check: |folder, _| whole_lines(&folder.join("kept/runs.jsonl")),
            ..ROW
        },
        Row {
            arguments: "study two-controllers --blocks 100 --out kept",
            ready: |folder| folder.join("kept/plan.json").exists(),
            ..ROW
        },
        Row {
            arguments: "study long.toml --target data --size 1M --out kept",
            files: &[("long.toml", STUDY)],
            // The shell makes the file before it writes.
            ready: |folder| folder.join("log").metadata().is_ok_and(|log| log.len() > 0),
            check: |folder, _| {
                let log = fs::read_to_string(folder.join("log")).unwrap();
                assert_eq!(log, "applied\nreverted\n");
            },
        },
    ]
}

/// An arm whose undoing takes longer than a verb has to end: what comes after it is still said.
#[test]
fn a_study_that_takes_long_to_undo_an_arm_says_what_it_kept() {
    let slow = STUDY.replace("echo reverted", "sleep 2; echo reverted");
    let folder = folder();
    file(folder.path(), "long.toml", &slow);
    let arguments = ["study", "long.toml", "--target", "data", "--size", "1M", "--out", "kept"];
    let child = begin(folder.path(), &arguments);
    while !listens(&child) || !folder.path().join("log").exists() {
        thread::yield_now();
    }
    let said = end(child, "INT");
    assert_eq!(said.code, 130, "{said:?}");
    assert!(said.err.contains("continue with --resume"), "{said:?}");
    assert!(!said.err.contains("gave up"), "{said:?}");
}

#[test]
fn a_measurement_of_a_drive_is_written_when_it_is_interrupted() {
    let folder = folder();
    // Large enough to be measured, which takes two minutes of any file.
    File::create(folder.path().join("disk")).unwrap().set_len(1 << 30).unwrap();
    let arguments = ["drive", "measure", "disk", "--out", "m.toml", "--json"];
    let child = begin(folder.path(), &arguments);
    while !listens(&child) {
        thread::yield_now();
    }
    let said = end(child, "INT");
    assert_eq!(said.code, 130, "{said:?}");
    assert_eq!(said.json()["complete"], false, "{said:?}");
    assert!(said.err.contains("the file contains the measurements so far"), "{said:?}");
    let text = fs::read_to_string(folder.path().join("m.toml")).unwrap();
    assert!(text.contains("interrupted before its end") && text.contains("[drive]"), "{text}");
}

/// Verbs that wait for a pipe whose writer keeps silent.
fn inputs() -> Vec<Row> {
    vec![
        Row { arguments: "run --job pipe", files: PIPE, check: silent, ..ROW },
        Row { arguments: "study pipe", files: PIPE, check: silent, ..ROW },
        Row { arguments: "compare pipe pipe", files: PIPE, check: silent, ..ROW },
        Row { arguments: "compare --pairs pipe", files: PIPE, check: silent, ..ROW },
        Row {
            arguments: "drive fit pipe --out own.toml",
            files: PIPE,
            check: |folder, _| assert!(!folder.join("own.toml").exists()),
            ..ROW
        },
        Row {
            arguments: "drive show ./pipe.toml",
            files: &[("|pipe.toml", "")],
            check: silent,
            ..ROW
        },
        Row { arguments: "replay pipe --drive generic-10k", files: PIPE, check: silent, ..ROW },
        Row { arguments: "inspect --dmesg pipe", files: PIPE, check: silent, ..ROW },
    ]
}

fn others() -> Vec<Row> {
    vec![
        Row { arguments: "inspect --watch", ..ROW },
        Row { arguments: "drive predict generic-10k --runtime 10000h", check: silent, ..ROW },
        Row { arguments: "explain article:1 --specimens 1000 --seed 7", check: silent, ..ROW },
        Row {
            arguments: "durability pages --size 1M --runtime 1h",
            ready: |folder| folder.join("durability.ledger").exists(),
            ..ROW
        },
        Row { arguments: "durability drive:generic-10k --size 1M --runtime 10000h", ..ROW },
    ]
}

#[test]
fn one_signal_ends_every_verb_and_keeps_what_was_measured() {
    thread::scope(|scope| {
        for signal in ["INT", "TERM"] {
            for row in rows() {
                scope.spawn(move || try_out(&row, signal));
            }
        }
    });
}

fn try_out(row: &Row, signal: &str) {
    let folder = folder();
    // Whoever has a pipe open for writing and says nothing keeps its readers waiting.
    let mut silent = Vec::new();
    for (name, content) in row.files {
        if let Some(pipe) = name.strip_prefix('|') {
            let path = folder.path().join(pipe);
            make_pipe(&path);
            silent.push(File::options().read(true).write(true).open(path).unwrap());
        } else {
            file(folder.path(), name, content);
        }
    }
    let arguments: Vec<&str> = row.arguments.split_whitespace().collect();
    let mut child = begin(folder.path(), &arguments);
    while !listens(&child) || !(row.ready)(folder.path()) {
        let early = child.try_wait().unwrap();
        assert!(early.is_none(), "`{}` ended by itself: {early:?}", row.arguments);
        thread::yield_now();
    }
    let said = end(child, signal);
    assert_eq!(said.code, 130, "`{}` after SIG{signal}: {said:?}", row.arguments);
    (row.check)(folder.path(), &said);
    drop(silent);
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Whether the process catches signals: before that, one would simply kill it.
fn listens(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    // SIGINT is 2 and SIGTERM 15, each a bit counted from 1.
    caught & (1 << 1) != 0 && caught & (1 << 14) != 0
}

/// Sends one signal, and waits for the end.
fn end(child: Child, signal: &str) -> Said {
    let id = child.id().to_string();
    let kill = |signal: &str| {
        Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap().success()
    };
    assert!(kill(signal));
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(child.wait_with_output().unwrap()));
    if let Ok(output) = told.recv_timeout(LIMIT) {
        return said(output);
    }
    kill("KILL");
    panic!("one SIG{signal} did not end it: {:?}", told.recv().map(said));
}

#[test]
fn a_replay_keeps_what_it_has_read_of_an_endless_trace() {
    let folder = folder();
    make_pipe(&folder.path().join("pipe"));
    let arguments = [
        "replay",
        "pipe",
        "--drive",
        "generic-10k",
        "--times",
        "times",
        "--format",
        "spc",
        "--json",
    ];
    let child = begin(folder.path(), &arguments);
    let mut pipe = File::options().write(true).open(folder.path().join("pipe")).unwrap();
    // More than the pipe and the program's own buffers hold: some of it was replayed.
    let mut line = 0;
    let mut put = move || {
        let text = format!("0,{},4096,R,{}.000000\n", line * 8 % 1_000_000, line);
        line += 1;
        pipe.write_all(text.as_bytes())
    };
    for _ in 0..60_000 {
        put().unwrap();
    }
    thread::spawn(move || while put().is_ok() {});
    let said = end(child, "TERM");
    assert_eq!(said.code, 130, "{said:?}");
    assert!(
        said.err.contains("the figures cover the requests before the interruption"),
        "{said:?}"
    );
    let requests = said.json()["requests"].as_u64().unwrap();
    let times = fs::read_to_string(folder.path().join("times")).unwrap();
    assert!(requests > 0 && times.ends_with('\n'), "{requests}");
    assert_eq!(times.lines().count() as u64, requests);
}

#[test]
fn a_run_that_waits_for_a_busy_archive_is_printed_after_ctrl_c() {
    let folder = folder();
    let run = ["run", "drive:generic-5400", "--number-ios", "20", "--json"];
    assert_eq!(crate::common::drivelab(folder.path(), &run).code, 0);
    let archive = folder.path().join(".kept/drivelab/runs.db");
    // Nothing gets past a lock on the whole file, which goes with the process that has it.
    let busy = File::options().read(true).write(true).open(&archive).unwrap();
    rustix::fs::fcntl_lock(&busy, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let mut child = begin(folder.path(), &run);
    let has_open = |child: &Child| {
        let files = fs::read_dir(format!("/proc/{}/fd", child.id())).into_iter().flatten();
        files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|path| path == archive))
    };
    while !has_open(&child) {
        assert_eq!(child.try_wait().unwrap(), None, "it did not wait");
        thread::yield_now();
    }
    let said = end(child, "INT");
    said.failed(130, &["not archived: interrupted while another process was writing"]);
    assert_eq!(said.json()["total"]["ios"], 20);
}
