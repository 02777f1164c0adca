//! A captured tree gives the same inspection elsewhere, and no serial numbers.

use std::fs;

use drivelab_host::capture::Capture;
use drivelab_host::{Inspection, KernelLog, Options, Root, inspect};

use crate::tree::Tree;

/// Captures a tree and unpacks the archive.
fn captured(tree: &Tree, serials: bool) -> (tempfile::TempDir, Vec<u8>) {
    let root = Root::recording(tree.folder.path());
    let options = Options { serials, ..Options::default() };
    inspect(&root, &[], &options).unwrap();
    let recording = root.into_recording();
    let mut archive = Vec::new();
    let log = fs::read_to_string(tree.folder.path().join("dmesg")).ok();
    let log = log.map(|text| KernelLog::parse(&text));
    Capture { recording, log, serials }.write(&mut archive).unwrap();
    let folder = tempfile::tempdir().unwrap();
    tar::Archive::new(archive.as_slice()).unpack(folder.path()).unwrap();
    (folder, archive)
}

fn inspected(folder: &std::path::Path, serials: bool) -> Inspection {
    inspect(&Root::new(folder), &[], &Options { serials, ..Options::default() }).unwrap()
}

const TREES: [&str; 13] = [
    "ich8-ide",
    "ich8-ahci",
    "shared-ide-port",
    "sata-mv",
    "stex",
    "nvme-x2",
    "stacked",
    "usb",
    "virtual",
    "libata-force",
    "nvme-multipath",
    "vmd",
    "other-stacks",
];

#[test]
fn a_copy_says_the_same_as_the_machine() {
    for name in TREES {
        let tree = Tree::named(name);
        let (folder, _) = captured(&tree, true);
        assert_eq!(inspected(folder.path(), false), tree.inspect(), "{name}");
        let (folder, _) = captured(&tree, false);
        let copy = placeless(inspected(folder.path(), false));
        assert_eq!(copy, placeless(tree.inspect()), "{name}");
    }
}

/// Without the names of files, which a copy has others for, and without what is derived from serial
/// numbers, which it has not.
fn placeless(mut found: Inspection) -> Inspection {
    found.environment.boot = None;
    for device in &mut found.devices {
        device.identity = None;
    }
    for backing in found.devices.iter_mut().filter_map(|device| device.backing.as_mut()) {
        backing.path = None;
    }
    found
}

#[test]
fn serial_numbers_stay_out_unless_asked_for() {
    let secrets =
        ["9TE0ABCD", "S4EWNX0M123456", "0025385b01234567", "pO8xDq2fwE1v", "0123456789abcdef"];
    for name in TREES {
        let tree = Tree::named(name);
        let (_, archive) = captured(&tree, false);
        let text = String::from_utf8_lossy(&archive);
        for secret in secrets {
            assert!(!text.contains(secret), "{secret} in {name}");
        }
        let serials = inspected(captured(&tree, false).0.path(), true);
        let serials: Vec<_> = serials.devices.iter().filter_map(|d| d.serial.as_ref()).collect();
        assert!(serials.is_empty(), "{name}: {serials:?}");
    }
    let tree = Tree::named("nvme-x2");
    let (folder, _) = captured(&tree, true);
    let told = inspected(folder.path(), true).devices[0].serial.clone();
    assert_eq!(told.as_deref(), Some("S4EWNX0M123456"));
}

#[test]
fn the_same_tree_gives_the_same_bytes() {
    let tree = Tree::named("stacked");
    assert_eq!(captured(&tree, false).1, captured(&tree, false).1);
}

#[test]
fn names_of_places_stay_out_unless_asked_for() {
    let tree = Tree::named("ich8-ahci");
    tree.remove("proc/mounts");
    tree.add(
        "proc/self/mountinfo = 24 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\\n\
         27 1 8:1 /private-folder /home/jane rw,x-path=/srv/jane shared:1 - ext4 /dev/sda1 rw\n\
         sys/block/loop0/size = 2048\nsys/block/loop0/dev = 7:0\n\
         sys/block/loop0/loop/backing_file = /home/jane/secret.img",
    );
    let copy = |serials| {
        let (folder, archive) = captured(&tree, serials);
        (folder, String::from_utf8_lossy(&archive).into_owned())
    };
    let (folder, archive) = copy(false);
    for secret in ["jane", "private-folder", "secret.img"] {
        assert!(!archive.contains(secret), "{secret}");
    }
    let found = inspected(folder.path(), false);
    let disk = |name: &str| found.devices.iter().find(|device| device.name == name).unwrap();
    let points: Vec<&str> = disk("sda").all_mounts().map(|mount| mount.point.as_str()).collect();
    assert!(points.len() == 2 && points[1].starts_with("/place-"), "{points:?}");
    assert_eq!(disk("loop0").backing.as_ref().unwrap().path.as_deref(), Some("/file-1"));
    assert!(copy(true).1.contains("/home/jane/secret.img"));
}
