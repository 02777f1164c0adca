//! The guard in front of block devices, with real loop devices.
//!
//! Needs root and loop devices; elsewhere each test says that it was left out. Every refusal is
//! checked to leave the device as it was, and the same device is written once the reason is gone.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use drivelab_core::Control;
use drivelab_core::record::MarkId;
use drivelab_core::workload::{Rw, WorkloadOptions};
use drivelab_engine::{GuardError, OpenError, RunError, RunOutcome, RunPlan, Use, run};
use drivelab_host::Linux;

use rustix::fs::OFlags;
use rustix::io::Errno;
use scratch::Scratch;

mod discard;
#[path = "../../../engine/src/testing.rs"]
#[expect(dead_code, reason = "shared with tests of the engine, which need more of it")]
mod scratch;

use crate::common::left_out;

const SIZE: usize = 8 << 20;

/// `O_EXCL`: nobody else may have it so.
fn exclusive() -> i32 {
    OFlags::EXCL.bits().cast_signed()
}

/// What a command printed; `None` where it failed.
pub(crate) fn command(line: &str) -> Option<String> {
    let mut words = line.split(' ');
    let output = Command::new(words.next()?).args(words).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A loop device on into a separate file.
pub(crate) struct Loop {
    pub(crate) device: PathBuf,
    pub(crate) image: PathBuf,
    _scratch: Option<Scratch>,
    /// While one test looks for a free loop device it has those of others open.
    _alone: MutexGuard<'static, ()>,
}

impl Loop {
    /// `None` where this machine has none for us.
    pub(crate) fn new(partitions: bool) -> Option<Self> {
        let scratch = Scratch::new("loop");
        let image = scratch.path("image");
        Self::on(image, Some(scratch), partitions)
    }

    /// The same on a file at `image`, which is made; `scratch` is kept as long.
    pub(crate) fn on(image: PathBuf, scratch: Option<Scratch>, partitions: bool) -> Option<Self> {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        fs::write(&image, vec![0xA5; SIZE]).unwrap();
        if partitions {
            write_partition_table(&image);
        }
        let Some(device) = command(&format!("losetup -f --show -P {}", image.display())) else {
            left_out("loop devices", "losetup refused, which it does but for root");
            return None;
        };
        if partitions {
            // Where the kernel has found them already this fails, harmlessly.
            command(&format!("partx --add {device}"));
        }
        Some(Self { device: device.into(), image, _scratch: scratch, _alone: alone })
    }

    fn part(&self) -> PathBuf {
        PathBuf::from(format!("{}p1", self.device.display()))
    }

    fn name(&self) -> String {
        self.device.display().to_string()
    }

    /// Bytes that it holds.
    #[expect(clippy::unused_self, reason = "all are of one size, which is nobody else's business")]
    pub(crate) fn size(&self) -> u64 {
        SIZE as u64
    }

    /// What the kernel tells of it, or lets set, under this name.
    pub(crate) fn setting(&self, name: &str) -> PathBuf {
        let device = self.device.file_name().unwrap();
        Path::new("/sys/block").join(device).join(name)
    }

    /// Bytes as the device has them, whatever caches hold.
    pub(crate) fn contents(&self) -> Vec<u8> {
        let file = OpenOptions::new().read(true).open(&self.device).unwrap();
        let mut bytes = vec![0; SIZE];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    fn put(&self, at: u64, bytes: &[u8]) {
        let file = OpenOptions::new().write(true).open(&self.device).unwrap();
        file.write_all_at(bytes, at).unwrap();
        file.sync_all().unwrap();
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        command(&format!("losetup -d {}", self.device.display()));
    }
}

/// One partition from 1 MiB to the end, in a master boot record.
fn write_partition_table(image: &Path) {
    // Four entries: what is not a partition must be nothing, or the kernel takes none.
    let mut entry = [0_u8; 64];
    entry[4] = 0x83;
    entry[8..12].copy_from_slice(&2048_u32.to_le_bytes());
    entry[12..16].copy_from_slice(&(u32::try_from(SIZE / 512).unwrap() - 2048).to_le_bytes());
    let file = OpenOptions::new().write(true).open(image).unwrap();
    file.write_all_at(&entry, 446).unwrap();
    file.write_all_at(&[0x55, 0xAA], 510).unwrap();
}

fn write(target: &Path, allowed: &[&Path]) -> Result<RunOutcome, RunError> {
    let number_ios = Some(8);
    let options =
        WorkloadOptions { rw: Some(Rw::RandWrite), number_ios, ..WorkloadOptions::default() };
    let plan = RunPlan {
        direct: false,
        allow_destructive: allowed.iter().map(PathBuf::from).collect(),
        ..RunPlan::new(target.into(), options.check().unwrap())
    };
    let stop = AtomicBool::new(false);
    run(&plan, &Linux::below("/"), &Control::silent(&stop))
}

/// Writing `target` is refused because `by` uses `device`, and changes nothing on `disk`.
fn check_refused(disk: &Loop, target: &Path, device: &Path, by: impl Fn(&Use) -> bool) {
    let before = disk.contents();
    let error = write(target, &[target]).expect_err("a device in use was written");
    assert!(disk.contents() == before, "the device was changed");
    let RunError::Open(OpenError::Guard(GuardError::InUse { device: told, by: user, .. })) = &error
    else {
        panic!("{error:?}");
    };
    assert_eq!(Path::new(told), device, "{error}");
    assert!(by(user), "{error}");
    assert!(error.hint().is_some());
}

/// Nothing stands against writing `target` any more, and it is written.
fn check_written(disk: &Loop, target: &Path) {
    let before = disk.contents();
    let outcome = write(target, &[target]).unwrap();
    assert_eq!((outcome.total.ios(), outcome.total.errors), (8, 0));
    assert!(disk.contents() != before, "nothing was written");
    assert!(outcome.marks.iter().any(|mark| mark.id == MarkId::NotDisk), "{:?}", outcome.marks);
}

fn is_member(of: &'static str) -> impl Fn(&Use) -> bool {
    move |by| matches!(by, Use::Member { kind } if kind.kind == of)
}

#[test]
fn the_name_must_be_repeated_exactly() {
    let Some(disk) = Loop::new(false) else { return };
    let before = disk.contents();
    for allowed in [&[][..], &[Path::new("/dev/sda")], &[Path::new("loop0")]] {
        let error = write(&disk.device, allowed).unwrap_err();
        let refused = matches!(
            &error,
            RunError::Open(OpenError::Guard(GuardError::BlockDevice { path, .. }))
                if *path == disk.device
        );
        assert!(refused, "{error:?}");
        let hint = error.hint().unwrap();
        assert!(hint.contains(&format!("--allow-destructive {}", disk.name())), "{hint}");
    }
    assert!(disk.contents() == before, "the device was changed");
    check_written(&disk, &disk.device);
}

#[test]
fn a_mounted_device_and_one_with_a_mounted_partition_are_not_written() {
    let Some(disk) = Loop::new(true) else { return };
    let part = disk.part();
    if !part.exists() || command(&format!("mkfs.ext4 -q -F {}", part.display())).is_none() {
        return left_out("a mounted partition", "no partitions of loop devices, or no mkfs.ext4");
    }
    let scratch = Scratch::new("mount");
    let at = scratch.path("a b");
    fs::create_dir(&at).unwrap();
    let mount = Command::new("mount").arg(&part).arg(&at).status().unwrap();
    assert!(mount.success());
    let here =
        |by: &Use| matches!(by, Use::Mounted { at: told, seen_by: None } if Path::new(told) == at);
    check_refused(&disk, &disk.device, &part, here);
    check_refused(&disk, &part, &part, here);
    assert!(Command::new("umount").arg(&at).status().unwrap().success());
    check_written(&disk, &part);
    check_written(&disk, &disk.device);
}

/// A child that is ended with its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_mount_in_another_namespace_is_seen() {
    let Some(disk) = Loop::new(false) else { return };
    if command(&format!("mkfs.ext4 -q -F {}", disk.name())).is_none() {
        return left_out("a mount elsewhere", "no mkfs.ext4");
    }
    let scratch = Scratch::new("mount");
    let script = "mount \"$0\" \"$1\" && echo mounted && exec sleep 600";
    let child = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .args([&disk.device, &scratch.path("")])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut child = Running(child);
    let mut told = [0_u8; 8];
    std::io::Read::read_exact(child.0.stdout.as_mut().unwrap(), &mut told).unwrap();
    let number = child.0.id();
    check_refused(&disk, &disk.device, &disk.device, |by| {
        let Use::Mounted { seen_by: Some(process), .. } = by else { return false };
        process.id == number
    });
    drop(child);
    check_written(&disk, &disk.device);
}

#[test]
fn swap_is_not_written() {
    let Some(disk) = Loop::new(false) else { return };
    let name = disk.name();
    let on = command(&format!("mkswap -q {name}")).and_then(|_| command(&format!("swapon {name}")));
    if on.is_none() {
        return left_out("swap", "this kernel takes no swap on a loop device");
    }
    check_refused(&disk, &disk.device, &disk.device, |by| *by == Use::Swap);
    command(&format!("swapoff {name}")).unwrap();
    check_written(&disk, &disk.device);
}

#[test]
fn members_of_volumes_are_not_written_whole_or_in_part() {
    let Some(disk) = Loop::new(true) else { return };
    let part = disk.part();
    let mib = 1 << 20;
    let end = SIZE as u64;
    let md = 0xA92B_4EFC_u32.to_le_bytes();
    let zfs = 0x00BA_B10C_u64.to_le_bytes();
    let cases: [(u64, &[u8], &'static str); 5] = [
        (4096, &md, "an md array"),
        (end - 8192, &md, "an md array"),
        ((64 << 10) + 64, b"_BHRfS_M", "a btrfs file system"),
        (128 << 10, &zfs, "a ZFS pool"),
        (end - (128 << 10), &zfs, "a ZFS pool"),
    ];
    for (at, bytes, kind) in cases {
        disk.put(at, bytes);
        check_refused(&disk, &disk.device, &disk.device, is_member(kind));
        disk.put(at, &vec![0; bytes.len()]);
    }
    let mut label = [0_u8; 32];
    label[..8].copy_from_slice(b"LABELONE");
    label[24..].copy_from_slice(b"LVM2 001");
    if part.exists() {
        disk.put(mib + 512, &label);
        check_refused(&disk, &disk.device, &part, is_member("an LVM volume group"));
        check_refused(&disk, &part, &part, is_member("an LVM volume group"));
        disk.put(mib + 512, &[0; 32]);
    }
    check_written(&disk, &disk.device);
}

#[test]
fn what_is_behind_a_loop_device_is_not_written_nor_is_its_twin() {
    let Some(disk) = Loop::new(false) else { return };
    let Some(above) = command(&format!("losetup -f --show {}", disk.name())) else {
        return left_out("a loop on a loop", "losetup refused");
    };
    let name = above.trim_start_matches("/dev/").to_owned();
    let by_it = |by: &Use| *by == Use::Loop { name: name.clone() };
    check_refused(&disk, &disk.device, &disk.device, by_it);
    command(&format!("losetup -d {above}")).unwrap();
    let twin = command(&format!("losetup -f --show {}", disk.image.display())).unwrap();
    let name = twin.trim_start_matches("/dev/").to_owned();
    let by_it = |by: &Use| *by == Use::Loop { name: name.clone() };
    check_refused(&disk, &disk.device, &disk.device, by_it);
    command(&format!("losetup -d {twin}")).unwrap();
    check_written(&disk, &disk.device);
    // The file itself is as little free to be written as long as a loop device is on it, also where
    // the name that the loop device was given is gone.
    let other = disk.image.with_extension("other");
    fs::hard_link(&disk.image, &other).unwrap();
    for path in [&disk.image, &other] {
        let error = write(path, &[]).unwrap_err();
        let by_the_loop = matches!(
            &error,
            RunError::Open(OpenError::Guard(GuardError::InUse { by: Use::Loop { .. }, .. }))
        );
        assert!(by_the_loop, "{error:?}");
        let _ = fs::remove_file(&disk.image);
    }
}

#[test]
fn a_partition_of_a_member_is_not_written() {
    let Some(disk) = Loop::new(true) else { return };
    let part = disk.part();
    if !part.exists() {
        return left_out("a partition of a member", "no partitions of loop devices");
    }
    let md = 0xA92B_4EFC_u32.to_le_bytes();
    // In front of the partition, which begins at 1 MiB: the disk's, as of an array over disks.
    disk.put(4096, &md);
    check_refused(&disk, &part, &disk.device, is_member("an md array"));
    check_refused(&disk, &disk.device, &disk.device, is_member("an md array"));
    disk.put(4096, &[0; 4]);
    // At the end of both: the partition's own.
    disk.put(SIZE as u64 - 8192, &md);
    check_refused(&disk, &part, &part, is_member("an md array"));
    disk.put(SIZE as u64 - 8192, &[0; 4]);
    check_written(&disk, &part);
}

#[test]
fn every_device_of_a_mounted_file_system_is_told_where_it_is_mounted() {
    let Some(disk) = Loop::new(false) else { return };
    let [first, second] = ["first", "second"].map(|name| disk.image.with_extension(name));
    for path in [&first, &second] {
        File::create(path).unwrap().set_len(128 << 20).unwrap();
    }
    let on = |path: &Path| command(&format!("losetup -f --show {}", path.display()));
    let (Some(one), Some(other)) = (on(&first), on(&second)) else {
        return left_out("btrfs over two devices", "losetup refused");
    };
    let scratch = Scratch::new("mount");
    let at = scratch.path("");
    let made = command(&format!("mkfs.btrfs -q -f {one} {other}"));
    let mounted = made.and_then(|_| command(&format!("mount {one} {}", at.display())));
    let refused = mounted.as_ref().map(|_| write(Path::new(&other), &[Path::new(&other)]));
    if mounted.is_some() {
        command(&format!("umount {}", at.display())).unwrap();
    }
    for device in [&one, &other] {
        command(&format!("losetup -d {device}")).unwrap();
    }
    let Some(refused) = refused else { return left_out("btrfs", "no mkfs.btrfs, or no btrfs") };
    let error = refused.unwrap_err();
    let RunError::Open(OpenError::Guard(GuardError::InUse { device, by, .. })) = &error else {
        panic!("{error:?}");
    };
    assert_eq!(device, &other);
    let here = matches!(by, Use::Mounted { at: told, seen_by: None } if Path::new(told) == at);
    assert!(here, "{error:?}");
}

#[test]
fn what_has_no_process_is_not_blamed_on_us() {
    let Some(disk) = Loop::new(false) else { return };
    if command(&format!("mkfs.ext4 -q -F {}", disk.name())).is_none() {
        return left_out("a mount out of sight", "no mkfs.ext4");
    }
    let scratch = Scratch::new("mount");
    let at = scratch.path("");
    assert!(command(&format!("mount {} {}", disk.name(), at.display())).is_some());
    let open = File::create(at.join("open")).unwrap();
    assert!(command(&format!("umount --lazy {}", at.display())).is_some());
    check_refused(&disk, &disk.device, &disk.device, |by| *by == Use::Exclusive { by: None });
    drop(open);
}

#[test]
fn a_read_only_device_is_refused_before_anything_fails() {
    let Some(disk) = Loop::new(false) else { return };
    command(&format!("blockdev --setro {}", disk.name())).unwrap();
    let error = write(&disk.device, &[&disk.device]).unwrap_err();
    let read_only = matches!(&error, RunError::Open(OpenError::Guard(GuardError::ReadOnly { .. })));
    assert!(read_only, "{error:?}");
    command(&format!("blockdev --setrw {}", disk.name())).unwrap();
    check_written(&disk, &disk.device);
}

#[test]
fn a_file_or_partition_on_a_loop_device_is_no_disk_of_its_own() {
    let Some(disk) = Loop::new(true) else { return };
    let read = |target: &Path| {
        let options = WorkloadOptions { number_ios: Some(1), ..WorkloadOptions::default() };
        let workload = options.check().unwrap();
        let plan = RunPlan { direct: false, ..RunPlan::new(target.into(), workload) };
        let stop = AtomicBool::new(false);
        let outcome = run(&plan, &Linux::below("/"), &Control::silent(&stop)).unwrap();
        let marks = outcome.marks.iter().filter(|mark| mark.id == MarkId::NotDisk);
        marks.map(|mark| mark.message.clone()).collect::<String>()
    };
    let part = disk.part();
    if !part.exists() || command(&format!("mkfs.ext4 -q -F {}", part.display())).is_none() {
        return left_out("a file on a loop device", "no partitions, or no mkfs.ext4");
    }
    let expected = format!("a partition of {}, a loop device on", disk.name());
    assert!(read(&part).contains(&expected), "{}", read(&part));
    let scratch = Scratch::new("mount");
    let at = scratch.path("");
    assert!(command(&format!("mount {} {}", part.display(), at.display())).is_some());
    fs::write(at.join("file"), [1; 8192]).unwrap();
    let told = read(&at.join("file"));
    command(&format!("umount {}", at.display())).unwrap();
    assert!(told.contains(&format!("a file on {expected}")), "{told}");
}

#[test]
fn a_device_that_somebody_has_to_himself_is_not_written() {
    let Some(disk) = Loop::new(false) else { return };
    let own = OpenOptions::new().read(true).custom_flags(exclusive()).open(&disk.device).unwrap();
    check_refused(
        &disk,
        &disk.device,
        &disk.device,
        |by| matches!(by, Use::Exclusive { by: Some(process) } if process.id == std::process::id()),
    );
    drop(own);
    check_written(&disk, &disk.device);
}

#[test]
fn a_run_has_the_device_to_itself() {
    let Some(disk) = Loop::new(false) else { return };
    let options = WorkloadOptions { rw: Some(Rw::RandWrite), ..WorkloadOptions::default() };
    let plan = RunPlan {
        direct: false,
        allow_destructive: vec![disk.device.clone()],
        ..RunPlan::new(disk.device.clone(), options.check().unwrap())
    };
    let stop = AtomicBool::new(false);
    let claim = || OpenOptions::new().read(true).custom_flags(exclusive()).open(&disk.device);
    let errors = Mutex::new(Vec::new());
    let progress = |_: drivelab_core::control::Event<'_>| {
        errors.lock().unwrap().push(claim().map(|_: File| ()).map_err(|e| e.raw_os_error()));
        stop.store(true, Ordering::Relaxed);
    };
    run(&plan, &Linux::below("/"), &Control::new(&stop, &progress)).unwrap();
    let errors = errors.into_inner().unwrap();
    assert!(!errors.is_empty());
    assert!(
        errors.iter().all(|error| *error == Err(Some(Errno::BUSY.raw_os_error()))),
        "{errors:?}"
    );
    claim().unwrap();
}

/// A process that has `device` open as `redirection` says, and not to itself.
fn opener(device: &str, redirection: &str) -> Child {
    let script = format!("exec 3{redirection}{device} && echo open && read line");
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 5];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
    assert_eq!(&said, b"open\n");
    child
}

#[test]
fn a_device_that_somebody_has_open_is_refused_exclusively_or_not() {
    let Some(disk) = Loop::new(true) else { return };
    let (whole, part) = (disk.device.clone(), disk.part());
    for (target, opened) in [(&whole, &whole), (&whole, &part), (&part, &whole), (&part, &part)] {
        for redirection in ["<", "<>"] {
            let mut child = opener(&opened.display().to_string(), redirection);
            let process = format!("process {} (sh)", child.id());
            let is_it = |by: &Use| by.to_string().contains(&process);
            check_refused(&disk, target, opened, is_it);
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
    check_written(&disk, &part);
    // Last, since it takes the table of partitions away.
    check_written(&disk, &whole);
}
