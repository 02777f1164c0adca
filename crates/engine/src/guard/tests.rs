//! Every refusal, over synthetic machines; `crates/cli/tests/devices` uses a real kernel.

use drivelab_core::usage::{Backing, Extent, Part, Process};

use super::*;

fn number(minor: u32) -> DeviceNumber {
    DeviceNumber { major: 8, minor }
}

fn part(minor: u32, start: u64) -> BlockDevice {
    let extent = Some(Extent { start, length: 1 << 20 });
    let part = Some(Part { disk: number(0), extent });
    BlockDevice { part, ..BlockDevice::new(number(minor), format!("sda{minor}")) }
}

fn backed(minor: u32, identity: Option<Identity>) -> BlockDevice {
    let backing = Backing { path: "/image".into(), identity, reach: Some(Bytes::mib(8)) };
    let number = DeviceNumber { major: 7, minor };
    BlockDevice { backing: Some(backing), ..BlockDevice::new(number, format!("loop{minor}")) }
}

const FILE: Identity = Identity::File { device: DeviceNumber { major: 8, minor: 16 }, inode: 12 };

fn mounted(device: DeviceNumber, source: Option<Identity>) -> Mounted {
    Mounted { device, at: "/mnt".into(), seen_by: None, source, others: Vec::new() }
}

/// A disk with two partitions, another disk, and the additions of `change`.
fn machine(change: impl FnOnce(&mut Usage)) -> Usage {
    let sda = BlockDevice::new(number(0), "sda");
    let sdb = BlockDevice::new(number(16), "sdb");
    let devices = vec![sda, part(1, 1 << 20), part(2, 2 << 20), sdb];
    let mut usage = Usage { devices, ..Usage::default() };
    change(&mut usage);
    usage
}

/// Why writing `name` is refused, with its name repeated.
fn refusal(usage: &Usage, name: &str) -> Option<String> {
    let device = usage.devices.iter().find(|device| device.name == name).unwrap();
    let path = PathBuf::from(device.node());
    let wish = Wish { path: &path, device: device.number, allowed: std::slice::from_ref(&path) };
    judge(usage, wish).err().map(|error| {
        assert!(!error.hint().is_empty());
        error.to_string()
    })
}

/// Checks that `change` makes the devices `refused` unwritable, for the reason `why`, and no other.
fn check(change: impl FnOnce(&mut Usage), refused: &[&str], why: &str) {
    let usage = machine(change);
    for name in ["sda", "sda1", "sda2", "sdb"] {
        let said = refusal(&usage, name);
        assert_eq!(said.is_some(), refused.contains(&name), "{name}: {said:?}");
        assert!(said.is_none_or(|said| said.contains(why)), "{name}: not {why}");
    }
}

#[test]
fn a_machine_that_uses_nothing_lets_everything_be_written() {
    check(|_| (), &[], "");
    let usage = machine(|_| ());
    let touched = |name: &str| -> Vec<&str> {
        let device = usage.devices.iter().find(|device| device.name == name).unwrap();
        tree::touched(&usage, device).iter().map(|device| device.name.as_str()).collect()
    };
    assert_eq!(touched("sda"), ["sda", "sda1", "sda2"]);
    assert_eq!(touched("sda1"), ["sda1", "sda"], "its neighbour is not touched");
}

#[test]
fn a_device_is_written_only_where_its_name_is_repeated_exactly() {
    let usage = machine(|usage| usage.devices.push(backed(0, Some(FILE))));
    let refused = |path: &str, device, allowed: &[&str]| {
        let allowed: Vec<PathBuf> = allowed.iter().map(PathBuf::from).collect();
        let error = judge(&usage, Wish { path: Path::new(path), device, allowed: &allowed }).err();
        let Some(GuardError::BlockDevice { what, .. }) = &error else { panic!("{error:?}") };
        what.clone().unwrap_or_default()
    };
    for allowed in [&[][..], &["/dev/sdb"], &["sda1"], &["/dev/sda"]] {
        assert_eq!(refused("/dev/sda1", number(1), allowed), "a partition of /dev/sda");
    }
    assert_eq!(refused("/dev/sda", number(0), &["/dev/sda1"]), "");
    let by_id = refused("/dev/disk/by-id/x", number(1), &["/dev/sda1"]);
    assert_eq!(by_id, "/dev/sda1, a partition of /dev/sda");
    let looped = DeviceNumber { major: 7, minor: 0 };
    assert_eq!(refused("/dev/loop0", looped, &[]), "a loop device on /image");
}

#[test]
fn a_device_that_sysfs_does_not_list_is_not_written() {
    let path = PathBuf::from("/dev/sdz");
    let wish = Wish { path: &path, device: number(99), allowed: std::slice::from_ref(&path) };
    let error = judge(&machine(|_| ()), wish).unwrap_err();
    assert!(matches!(error, GuardError::Unknown { .. }), "{error}");
}

#[test]
fn what_is_mounted_is_not_written_by_whatever_name_the_mount_has() {
    let number_of_part = |usage: &mut Usage| usage.mounts.push(mounted(number(1), None));
    check(number_of_part, &["sda", "sda1"], "sda1 is mounted at /mnt");
    let whole = |usage: &mut Usage| usage.mounts.push(mounted(number(0), None));
    check(whole, &["sda", "sda1", "sda2"], "sda is mounted at /mnt");
    let anonymous = DeviceNumber { major: 0, minor: 44 };
    let source = Some(Identity::Device(number(2)));
    let by_name = |usage: &mut Usage| usage.mounts.push(mounted(anonymous, source));
    check(by_name, &["sda", "sda2"], "sda2 is mounted");
    let log = vec![Identity::Device(number(16))];
    let by_option = |usage: &mut Usage| {
        usage.mounts.push(Mounted { others: log, ..mounted(anonymous, None) });
    };
    check(by_option, &["sdb"], "sdb is mounted");
    let seen_by = Some(Process { id: 70, name: "init".into() });
    let elsewhere =
        |usage: &mut Usage| usage.mounts.push(Mounted { seen_by, ..mounted(number(16), None) });
    check(elsewhere, &["sdb"], "in the mount namespace of process 70 (init)");
}

#[test]
fn every_device_of_a_mounted_btrfs_is_mounted() {
    let two = |usage: &mut Usage| {
        let anonymous = DeviceNumber { major: 0, minor: 44 };
        usage.mounts.push(mounted(anonymous, Some(Identity::Device(number(16)))));
        usage.btrfs.push(vec![number(1), number(16)]);
    };
    check(two, &["sda", "sda1", "sdb"], "is mounted at /mnt");
}

#[test]
fn swap_holders_and_read_only_devices_are_not_written() {
    let swap = |usage: &mut Usage| usage.swaps.push(Identity::Device(number(2)));
    check(swap, &["sda", "sda2"], "sda2 is in use as swap");
    let held = |usage: &mut Usage| {
        usage.devices[1].holders.push("dm-0".into());
        let mapped = BlockDevice::new(DeviceNumber { major: 253, minor: 0 }, "dm-0");
        usage.devices.push(BlockDevice { volume: Some("LVM volume vg-root".into()), ..mapped });
    };
    check(held, &["sda", "sda1"], "sda1 is held by dm-0 (LVM volume vg-root)");
    let unlisted = |usage: &mut Usage| usage.devices[3].holders.push("bcache0".into());
    check(unlisted, &["sdb"], "sdb is held by bcache0");
    let read_only = |usage: &mut Usage| usage.devices[0].read_only = true;
    check(read_only, &["sda", "sda1", "sda2"], "sda is read-only");
}

#[test]
fn what_is_behind_a_loop_device_is_not_written_nor_is_its_twin() {
    let on_part = Some(Identity::Device(number(1)));
    let above = |usage: &mut Usage| usage.devices.push(backed(0, on_part));
    check(above, &["sda", "sda1"], "sda1 is in use by loop0");
    let twins =
        machine(|usage| usage.devices.extend([backed(0, Some(FILE)), backed(1, Some(FILE))]));
    assert!(refusal(&twins, "loop0").unwrap().contains("loop0 is in use by loop1"));
    // Nothing can be said about a loop device whose file is unknown, nor about two of them.
    let unknown = machine(|usage| usage.devices.extend([backed(0, None), backed(1, None)]));
    assert_eq!(refusal(&unknown, "loop0"), None);
    // Writing a loop device writes the disk under it.
    let through = machine(|usage| {
        usage.devices.push(backed(0, Some(Identity::Device(number(16)))));
        usage.mounts.push(mounted(number(16), None));
    });
    assert!(refusal(&through, "loop0").unwrap().contains("/dev/sdb is mounted"));
}

#[test]
fn a_file_in_use_is_told_by_what_it_is_and_not_by_its_name() {
    let used = |change: fn(&mut Usage)| {
        let by = judge_file(&machine(change), FILE);
        by.map(|by| by.to_string()).unwrap_or_default()
    };
    assert_eq!(used(|_| ()), "");
    assert_eq!(used(|usage| usage.swaps.push(FILE)), "is in use as swap");
    let looped = used(|usage| usage.devices.push(backed(3, Some(FILE))));
    assert_eq!(looped, "is in use by loop3");
    let inside = used(|usage| usage.mounts.push(mounted(number(99), Some(FILE))));
    assert_eq!(inside, "is mounted at /mnt");
}

#[test]
fn the_driver_of_a_loop_device_is_asked_where_its_path_tells_nothing() {
    let asked = |device: &BlockDevice, length| must_ask(device, FILE, Bytes::mib(length));
    assert!(asked(&backed(0, None), 8));
    assert!(!asked(&backed(0, None), 7), "it reaches past the end");
    assert!(!asked(&backed(0, Some(FILE)), 8), "the path told");
    assert!(!asked(&BlockDevice::new(number(0), "sda"), 8));
}

#[test]
fn we_are_not_another_but_for_what_we_did_not_open_ourselves() {
    let opener = |id| Opener { device: number(0), process: Process { id, name: "x".into() } };
    let ours = std::process::id();
    let found = |ids: &[u32], own| {
        let openers = ids.iter().map(|id| opener(*id)).collect();
        other_opener(openers, own).map(|opener| opener.process.id)
    };
    assert_eq!(found(&[ours], 1), None);
    assert_eq!(found(&[ours, ours], 1), Some(ours));
    assert_eq!(found(&[ours, ours], usize::MAX), None);
    assert_eq!(found(&[ours, 1], usize::MAX), Some(1));
}

#[test]
fn a_target_is_traced_to_the_disk_under_it() {
    let usage = machine(|usage| {
        usage.devices.push(backed(0, Some(FILE)));
        usage.devices.push(BlockDevice::new(DeviceNumber { major: 252, minor: 0 }, "zram0"));
        let anonymous = DeviceNumber { major: 0, minor: 44 };
        usage.mounts.push(mounted(anonymous, Some(Identity::Device(number(1)))));
    });
    let under = |major, minor, path: &str, is_device| {
        let number = DeviceNumber { major, minor };
        let disk = tree::disk_under(&usage, number, Path::new(path), is_device)?;
        Some((disk.number.to_string(), disk.stand_in.unwrap_or_default()))
    };
    let check = |found: Option<(String, String)>, number: &str, stand_in: &str| {
        assert_eq!(found, Some((number.into(), stand_in.into())));
    };
    check(under(8, 2, "/dev/sda2", true), "8:0", "");
    check(under(0, 44, "/mnt/file", false), "8:0", "");
    check(under(7, 0, "/x/file", false), "7:0", "a file on a loop device on /image");
    check(under(252, 0, "/dev/zram0", true), "252:0", "compressed memory (zram)");
    assert_eq!(under(0, 45, "/tmp/file", false), None);
}
