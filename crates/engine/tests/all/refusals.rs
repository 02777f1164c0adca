//! What is not measured or not written, and why.

use std::error::Error;
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use drivelab_core::Control;
use drivelab_core::units::Bytes;
use drivelab_core::workload::{Rw, WorkloadOptions};
use drivelab_engine::{RunError, RunOutcome, RunPlan, run, try_out};

use crate::left_out;
use crate::quiet::Quiet;
use crate::scratch::Scratch;

fn attempt(path: &Path, options: WorkloadOptions, direct: bool) -> Result<RunOutcome, RunError> {
    let workload = WorkloadOptions { number_ios: Some(1), ..options }.check().unwrap();
    let plan = RunPlan { direct, ..RunPlan::new(path.into(), workload) };
    let stop = AtomicBool::new(false);
    run(&plan, &Quiet(Vec::new()), &Control::silent(&stop))
}

fn check(refused: Result<RunOutcome, RunError>, message: &str, hint: &str) {
    let error = refused.expect_err(message);
    let mut text = error.to_string();
    if let Some(source) = error.source() {
        text = format!("{text}: {source}");
    }
    assert!(text.contains(message), "{text}");
    let given = error.hint().unwrap_or_default();
    assert!(given.contains(hint), "{given}");
}

fn reading() -> WorkloadOptions {
    WorkloadOptions::default()
}

fn writing() -> WorkloadOptions {
    WorkloadOptions { rw: Some(Rw::RandWrite), ..Default::default() }
}

#[test]
fn what_has_no_blocks_is_refused_by_its_kind() {
    let scratch = Scratch::new("refuse");
    check(attempt(&scratch.path(""), reading(), false), "is a directory", "regular file");
    check(attempt(Path::new("/dev/null"), writing(), false), "character device", "regular file");
    let socket = scratch.path("socket");
    let _listening = UnixListener::bind(&socket).unwrap();
    check(attempt(&socket, reading(), false), "is a socket", "regular file");
    check(attempt(&scratch.file("empty", b""), reading(), false), "is empty", "--size");
    check(attempt(&scratch.path("none"), reading(), false), "does not exist", "--size 1G");
    let nothing = WorkloadOptions { size: Some(Bytes::ZERO), ..reading() };
    check(attempt(&scratch.path("none"), nothing, false), "a file of 0 bytes", "--size 1G");
    assert!(!scratch.path("none").exists());
}

#[test]
fn somebody_elses_data_is_not_overwritten() {
    let scratch = Scratch::new("refuse");
    let data = vec![b'x'; 1 << 20];
    let path = scratch.file("thesis", &data);
    check(attempt(&path, writing(), false), "did not write", "--overwrite");
    assert!(fs::read(&path).unwrap() == data, "the file was changed");
    attempt(&path, reading(), false).unwrap();
}

#[test]
fn a_block_device_whose_name_was_not_repeated_is_not_written() {
    let is_device = |path: &PathBuf| {
        use std::os::unix::fs::FileTypeExt as _;
        fs::metadata(path).is_ok_and(|meta| meta.file_type().is_block_device())
    };
    let devices = fs::read_dir("/dev").unwrap().map(|entry| entry.unwrap().path());
    let Some(device) = devices.into_iter().find(is_device) else {
        return left_out("a block device", "there is none in /dev");
    };
    // Without the right to read it there is nothing to refuse but the opening.
    match fs::File::open(&device) {
        Ok(_) => check(attempt(&device, writing(), false), "block device", "--allow-destructive"),
        Err(error) => left_out("a block device", error),
    }
}

#[test]
fn memory_is_no_disk() {
    let shm = Path::new("/dev/shm");
    let path = shm.join(format!("drivelab-refuse-{}", std::process::id()));
    if let Err(error) = fs::write(&path, vec![0; 1 << 20]) {
        return left_out("a file in memory", error);
    }
    let refused = attempt(&path, reading(), true);
    fs::remove_file(&path).unwrap();
    check(refused, "in memory", "--direct=0");
}

#[test]
fn nothing_stays_of_a_file_that_was_laid_out_for_a_refused_run() {
    let sized = || WorkloadOptions { size: Some(Bytes::mib(1)), ..reading() };
    let shm = Path::new("/dev/shm").join(format!("drivelab-refuse-new-{}", std::process::id()));
    check(attempt(&shm, sized(), true), "in memory", "--direct=0");
    assert!(!shm.exists() && !shm.with_extension("unfinished").exists());
    // This is known only once the file is there.
    let scratch = Scratch::new("refuse");
    let large = WorkloadOptions { bs: Some(Bytes::mib(2)), ..sized() };
    check(attempt(&scratch.path("new"), large, false), "too small for one block", "");
    assert!(!scratch.path("new").exists());
}

#[test]
fn nothing_stays_of_plans_of_which_a_later_one_is_refused() {
    let scratch = Scratch::new("refuse");
    let sized = WorkloadOptions { size: Some(Bytes::mib(1)), ..reading() };
    let plan = |name: &str, options: &WorkloadOptions| {
        let workload = options.clone().check().unwrap();
        RunPlan { direct: false, ..RunPlan::new(scratch.path(name), workload) }
    };
    let stop = AtomicBool::new(false);
    let control = Control::silent(&stop);
    let tried = |plans: &[RunPlan]| try_out(plans, &Quiet(Vec::new()), &control);
    tried(&[plan("new", &sized), plan("none", &reading())]).unwrap_err();
    assert!(!scratch.path("new").exists());
    tried(&[plan("new", &sized), plan("new", &reading())]).unwrap();
    assert!(scratch.path("new").exists());
}

#[test]
fn a_missing_device_is_not_made_a_file() {
    let path = Path::new("/dev/drivelab-no-such-disk");
    let sized = WorkloadOptions { size: Some(Bytes::mib(1)), ..writing() };
    check(attempt(path, sized, false), "no file is laid out among the devices", "check the name");
    check(attempt(path, writing(), false), "does not exist", "lists the drives");
    assert!(!path.exists());
}

#[test]
fn absurd_sizes_are_refused() {
    let scratch = Scratch::new("refuse");
    let path = scratch.file("small", &[0; 8192]);
    let large = WorkloadOptions { bs: Some(Bytes::mib(1)), ..reading() };
    check(attempt(&path, large, false), "too small for one block", "");
    let greedy = WorkloadOptions {
        bs: Some(Bytes::gib(1)),
        iodepth: Some(4096),
        size: Some(Bytes::gib(1)),
        ..reading()
    };
    check(attempt(&scratch.path("new"), greedy, false), "more than half of the", "--iodepth");
    let huge = WorkloadOptions { size: Some(Bytes::new(1 << 60)), ..reading() };
    check(attempt(&scratch.path("new"), huge, false), "no space", "free some space");
    assert!(!scratch.path("new").exists());
}

/// Set in the child that runs on a disk of its own.
const FULL_DISK: &str = "DRIVELAB_TEST_FULL_DISK";

/// A real full disk: a tmpfs of 4 MiB, mounted where only a child of this test sees it.
#[test]
fn a_full_disk_is_told_and_nothing_of_the_file_stays() {
    if let Some(folder) = std::env::var_os(FULL_DISK) {
        let path = Path::new(&folder).join("new");
        let large = WorkloadOptions { size: Some(Bytes::mib(16)), ..reading() };
        check(attempt(&path, large, false), "no space", "free some space");
        assert!(!path.exists());
        let fitting = WorkloadOptions { size: Some(Bytes::mib(2)), ..reading() };
        attempt(&path, fitting, false).unwrap();
        return;
    }
    let scratch = Scratch::new("full");
    let script = "mount -t tmpfs -o size=4m none \"$0\" || exit 99; exec \"$1\" --exact \"$2\"";
    let child = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .arg(scratch.path(""))
        .arg(std::env::current_exe().unwrap())
        .arg("refusals::a_full_disk_is_told_and_nothing_of_the_file_stays")
        .env(FULL_DISK, scratch.path(""))
        .output();
    // Without user namespaces or `unshare` there is no disk to fill here.
    let child = match child {
        Ok(child) => child,
        Err(error) => return left_out("a full disk", error),
    };
    let output = String::from_utf8_lossy(&child.stdout);
    if child.status.success() {
        assert!(output.contains("1 passed"), "{output}");
    } else {
        let refused = !output.contains("running 1 test");
        let errors = String::from_utf8_lossy(&child.stderr);
        assert!(refused, "{output}{errors}");
        left_out("a full disk", errors);
    }
}
