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
    assert_eq!(text.out, "Verified: all 256 blocks hold what they must\n");
    let none = drivelab(folder.path(), &["run", "other", "--verify-only"]);
    none.failed(2, &["other.verify-state", "--verify"]);
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
