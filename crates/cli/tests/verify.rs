//! `run --verify`: planted faults, and a run that was killed.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use crate::common::{Said, begin, drivelab, folder};

const BLOCK: usize = 4096;

fn write(folder: &Path, more: &[&str]) -> Said {
    let fixed = ["run", "data", "--size", "1M", "--direct=0", "--rw", "write", "--verify"];
    drivelab(folder, &[&fixed, more].concat())
}

fn verify(folder: &Path) -> Said {
    drivelab(folder, &["run", "data", "--verify-only", "--json"])
}

/// What `--verify-only` finds after `change` was done to the data.
fn check(change: impl Fn(&mut Vec<u8>), fault: &str, count: u64) {
    let folder = folder();
    assert_eq!(write(folder.path(), &["--number-ios", "256"]).code, 0);
    let path = folder.path().join("data");
    let mut data = fs::read(&path).unwrap();
    change(&mut data);
    fs::write(&path, data).unwrap();
    let said = verify(folder.path());
    assert_eq!(said.code, 1, "{said:?}");
    let faults = &said.json()["verification"]["faults"];
    assert_eq!(faults, &serde_json::json!({ fault: count }), "{said:?}");
}

#[test]
fn planted_faults_are_named() {
    check(|data| data[5 * BLOCK + 1000] ^= 4, "corrupt", 1);
    check(|data| data[3 * BLOCK..5 * BLOCK].rotate_left(BLOCK), "misdirected", 2);
    check(|data| data[7 * BLOCK..8 * BLOCK].fill(0), "lost", 1);
    check(|data| data[7 * BLOCK + 512..8 * BLOCK].fill(0), "torn", 1);
    check(|data| data.truncate(1 << 19), "truncated", 128);
}

#[test]
fn what_was_written_is_verified_at_once_and_a_second_time() {
    let folder = folder();
    let run = write(folder.path(), &["--number-ios", "300", "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.json()["verification"]["good"], 256);
    assert_eq!(verify(folder.path()).json()["verification"]["faults"], serde_json::json!({}));
    let text = drivelab(folder.path(), &["run", "data", "--verify-only"]);
    assert_eq!(text.out, "Verified: all 256 blocks are intact\n");
    let readonly = drivelab(folder.path(), &["run", "data", "--readonly", "--verify-only"]);
    assert_eq!((readonly.code, readonly.out), (0, text.out));
    let none = drivelab(folder.path(), &["run", "other", "--verify-only"]);
    none.failed(2, &["other.verify-state", "--verify"]);
}

#[test]
fn a_state_file_without_a_verification_is_refused() {
    let folder = folder();
    let run = ["run", "data", "--size", "1M", "--direct=0", "--number-ios", "1"];
    let said = drivelab(folder.path(), &[&run[..], &["--verify-state", "state"]].concat());
    said.failed(2, &["`--verify-state` names", "add `--verify`"]);
    assert!(!folder.path().join("data").exists());
}

#[test]
fn a_killed_run_kept_its_promises() {
    let folder = folder();
    let laid_out = ["run", "data", "--size", "4M", "--direct=0", "--number-ios", "1"];
    assert_eq!(drivelab(folder.path(), &laid_out).code, 0);
    let arguments = [
        "run",
        "data",
        "--direct=0",
        "--rw",
        "randwrite",
        "--iodepth",
        "16",
        "--runtime",
        "600s",
        "--verify",
    ];
    let mut child = begin(folder.path(), &arguments);
    // Once the account has grown, writes are under way.
    let state = folder.path().join("data.verify-state");
    let wrote =
        || fs::read(&state).is_ok_and(|state| state.iter().skip(8192).any(|byte| *byte > 0));
    while !wrote() {
        if let Some(status) = child.try_wait().unwrap() {
            let mut told = String::new();
            child.stderr.take().unwrap().read_to_string(&mut told).unwrap();
            // A machine without io_uring keeps no depth of 16.
            assert!(told.contains("io_uring"), "{status}: {told}");
            return;
        }
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let said = verify(folder.path());
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.json()["verification"]["promised"].as_u64() > Some(0), "{said:?}");
}

#[test]
fn a_damaged_account_accuses_nobody() {
    let folder = folder();
    assert_eq!(write(folder.path(), &["--number-ios", "256"]).code, 0);
    let path = folder.path().join("data.verify-state");
    let whole = fs::read(&path).unwrap();
    let check = |change: &dyn Fn(&mut Vec<u8>), words: &[&str]| {
        let mut state = whole.clone();
        change(&mut state);
        fs::write(&path, state).unwrap();
        verify(folder.path()).failed(2, words);
    };
    // A bit of a block's entry, of a job's, of the first page; an entry moved; a missing end.
    check(&|state| state[8192 + 16 * 5 + 1] ^= 4, &["damaged", "block 5"]);
    check(&|state| state[8192 + 16 * 5 + 15] ^= 1, &["damaged", "block 5"]);
    check(&|state| state.copy_within(8192..8208, 8192 + 16 * 9), &["damaged", "block 9"]);
    check(&|state| state[60] ^= 1, &["damaged", "first page"]);
    check(&|state| state.truncate(9000), &["damaged", "12288"]);
    check(&|state| state.clear(), &["not a verify state file", "--verify-state"]);
    check(&|state| state[..10].fill(b'x'), &["not a verify state file"]);
    fs::write(&path, &whole).unwrap();
    assert_eq!(verify(folder.path()).code, 0);
}

#[test]
fn an_account_is_found_by_any_name_of_its_target_and_kept_from_other_targets() {
    let folder = folder();
    assert_eq!(write(folder.path(), &["--number-ios", "256"]).code, 0);
    let absolute = folder.path().join("data").display().to_string();
    for name in ["./data", &absolute] {
        let arguments = ["run", name, "--verify-only", "--verify-state", "data.verify-state"];
        let said = drivelab(folder.path(), &arguments);
        assert_eq!(said.code, 0, "{said:?}");
    }
    let arguments = ["run", "other", "--size", "1M", "--direct=0", "--rw", "write", "--verify"];
    let more = ["--number-ios", "1", "--verify-state", "data.verify-state"];
    drivelab(folder.path(), &[&arguments[..], &more].concat())
        .failed(2, &["belongs to data, not to other"]);
    assert_eq!(verify(folder.path()).code, 0, "the account is as it was");
}

#[test]
fn what_was_never_promised_is_not_called_good() {
    let folder = folder();
    assert_eq!(write(folder.path(), &["--number-ios", "256"]).code, 0);
    // Nothing was flushed, so after a power cut nothing had to be there.
    let arguments = ["run", "data", "--verify-only", "--power-was-cut"];
    let said = drivelab(folder.path(), &arguments);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.out.contains("Nothing to verify"), "{said:?}");
    let check = |target: &str, rw: &str, words: &[&str]| {
        let arguments = ["run", target, "--direct=0", "--rw", rw, "--verify"];
        drivelab(folder.path(), &arguments).failed(2, words);
    };
    check("data", "randread", &["writes none", "--rw randwrite"]);
    check("data", "randtrim", &["writes none"]);
    check("drive:generic-5400", "randwrite", &["stores no data", "drivelab serve"]);
}

/// Waits until the account in `state` has an entry: writes are under way.
fn wait_for_writes(child: &mut std::process::Child, state: &Path) {
    while !fs::read(state).is_ok_and(|state| state.iter().skip(8192).any(|byte| *byte > 0)) {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "{ended:?}");
        std::thread::yield_now();
    }
}

#[test]
fn a_file_whose_writes_are_kept_account_of_has_no_second_writer() {
    let folder = folder();
    let fixed = ["run", "data", "--size", "1M", "--direct=0", "--ioengine", "psync"];
    let writes = [&fixed[..], &["--rw", "randwrite"]].concat();
    let verified = [&writes[..], &["--verify"]].concat();
    let mut first = begin(folder.path(), &[&verified[..], &["--runtime", "600s"]].concat());
    wait_for_writes(&mut first, &folder.path().join("data.verify-state"));
    let process = format!("process {}", first.id());
    let other = ["--number-ios", "10", "--verify-state", "other.verify-state"];
    let words = ["refusing to write data", &process, "(drivelab)"];
    drivelab(folder.path(), &[&verified[..], &other].concat()).failed(2, &words);
    drivelab(folder.path(), &[&writes[..], &["--number-ios", "10"]].concat()).failed(2, &words);
    let pages = ["durability", "data", "--size", "64k", "--runtime", "10ms"];
    drivelab(folder.path(), &pages).failed(2, &words);
    let verify = ["run", "data", "--verify-only"];
    drivelab(folder.path(), &verify).failed(2, &["is still being written", &process]);
    // Reading takes nothing away from anybody.
    let reads = [&fixed[..], &["--number-ios", "10"]].concat();
    assert_eq!(drivelab(folder.path(), &reads).code, 0);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(drivelab(folder.path(), &verify).code, 0);
    assert_eq!(write(folder.path(), &["--number-ios", "10"]).code, 0);
}
