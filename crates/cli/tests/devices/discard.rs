//! A trim of a block device is a discard, with real loop devices; a trim of a file is a hole.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use drivelab_core::Control;
use drivelab_core::IoEngine;
use drivelab_core::units::Bytes;
use drivelab_core::workload::{Rw, WorkloadOptions};
use drivelab_engine::{IoEngineError, OpenError, RunError, RunOutcome, RunPlan, run};
use drivelab_host::Linux;

use super::scratch::Scratch;
use super::{Loop, command, left_out};

const BLOCK: u64 = 64 << 10;

/// Trims the whole device once.
fn trim(disk: &Loop, ioengine: IoEngine) -> Result<RunOutcome, RunError> {
    let options = WorkloadOptions {
        rw: Some(Rw::Trim),
        bs: Some(Bytes::new(BLOCK)),
        number_ios: Some(disk.size() / BLOCK),
        iodepth: Some(if ioengine == IoEngine::Psync { 1 } else { 4 }),
        ..WorkloadOptions::default()
    };
    let plan = RunPlan {
        ioengine: Some(ioengine),
        allow_destructive: vec![disk.device.clone()],
        ..RunPlan::new(disk.device.clone(), options.check().unwrap())
    };
    let stop = AtomicBool::new(false);
    run(&plan, &Linux::below("/"), &Control::silent(&stop))
}

/// Linux, `Documentation/block/stat.rst`: write I/Os, and bytes discarded; discards themselves are
/// merged where they lie side by side. Both go on counting when a loop device gets another file.
fn counted(disk: &Loop) -> (u64, u64) {
    let stat = fs::read_to_string(disk.setting("stat")).unwrap();
    let numbers: Vec<u64> = stat.split_whitespace().map(|one| one.parse().unwrap()).collect();
    (numbers[4], numbers[13] * 512)
}

#[test]
fn a_trim_of_a_block_device_is_a_discard() {
    for ioengine in [IoEngine::Psync, IoEngine::IoUring] {
        let Some(disk) = Loop::new(false) else { return };
        let before = counted(&disk);
        let outcome = match trim(&disk, ioengine) {
            Err(RunError::IoEngine(IoEngineError::NoDiscards { .. })) => {
                return left_out("discards through io_uring", "this kernel has none");
            }
            outcome => outcome.unwrap(),
        };
        let blocks = disk.size() / BLOCK;
        assert_eq!((outcome.total.ios(), outcome.total.errors), (blocks, 0), "{ioengine}");
        assert_eq!(counted(&disk), (before.0, before.1 + disk.size()), "{ioengine}");
        // The loop device passes a discard on to its file, of which nothing is left but what a file
        // system may need to say so.
        let left = fs::metadata(&disk.image).unwrap().blocks() * 512;
        assert!(left < BLOCK, "{ioengine}: {left} bytes");
        assert!(disk.contents().iter().all(|byte| *byte == 0), "{ioengine}");
    }
}

#[test]
fn a_device_that_discards_nothing_is_refused_once_and_before_any_request() {
    // A file system that punches no holes: a loop device on it has no discard.
    let scratch = Scratch::new("ramfs");
    let at = scratch.path("");
    if command(&format!("mount -t ramfs none {}", at.display())).is_none() {
        return left_out("a device without discards", "no ramfs can be mounted");
    }
    let _mounted = Mounted(at.clone());
    let Some(disk) = Loop::on(at.join("image"), None, false) else { return };
    let before = counted(&disk);
    for ioengine in [IoEngine::Psync, IoEngine::IoUring] {
        let error = trim(&disk, ioengine).map(|outcome| outcome.total.errors).unwrap_err();
        let refused = matches!(&error, RunError::Open(OpenError::NoDiscard { .. }));
        assert!(refused, "{error:?}");
        assert!(error.hint().is_some_and(|hint| hint.contains("discard_max_bytes")), "{error:?}");
    }
    assert_eq!(counted(&disk), before);
}

/// A mount that goes with the test.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        command(&format!("umount {}", self.0.display()));
    }
}
