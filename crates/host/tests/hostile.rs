//! Trees that are broken, hostile or both: never a panic, each problem told.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use proptest::prelude::*;

use drivelab_host::outline;

use crate::tree::{Tree, text};

const SCHEDULER: &str = "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/\
                         block/sda/queue/scheduler";
const BLOCK: &str = "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda";

/// Whether a problem with this path and text is told.
fn told(tree: &Tree, path: &str, message: &str) {
    let problems = tree.inspect().problems;
    let found = problems.iter().any(|p| p.path.ends_with(path) && p.message.contains(message));
    assert!(found, "{path} {message}: {problems:?}");
}

#[test]
fn a_healthy_tree_has_no_problems() {
    for name in ["ich8-ide", "ich8-ahci", "stacked", "usb", "virtual", "nvme-x2", "stex"] {
        assert_eq!(Tree::named(name).inspect().problems, [], "{name}");
    }
}

#[test]
fn what_is_not_text_is_told_and_shown_as_far_as_it_goes() {
    let tree = Tree::named("ich8-ahci");
    fs::write(tree.place(SCHEDULER), b"[none\xff]\n").unwrap();
    told(&tree, "queue/scheduler", "not UTF-8 text");
    assert_eq!(tree.device("sda").queue.scheduler.as_deref(), Some("none\u{fffd}"));
}

#[test]
fn what_is_huge_is_cut() {
    let tree = Tree::named("ich8-ahci");
    fs::write(tree.place(SCHEDULER), vec![b'x'; 1 << 20]).unwrap();
    told(&tree, "queue/scheduler", "larger than 65536 bytes");
    // A file with a hole of a gigabyte: only what is wanted is read.
    let file = fs::File::create(tree.place("proc/mdstat")).unwrap();
    file.set_len(1 << 30).unwrap();
    told(&tree, "proc/mdstat", "larger than 1048576 bytes");
}

#[test]
fn half_written_values_are_told() {
    let check = |path: &str, content: &str, message: &str| {
        let tree = Tree::named("ich8-ahci");
        fs::write(tree.place(&format!("{BLOCK}/{path}")), content).unwrap();
        told(&tree, path, message);
    };
    check("queue/nr_requests", "12a", "a number: `12a`");
    check("size", "99999999999999999999999999", "a number");
    check("inflight", "1", "two numbers");
    check("queue/scheduler", "none mq-dead", "one in brackets");
    check("queue/scheduler", "[", "one in brackets");
    check("sda1/start", "-5", "a number");
}

#[test]
fn links_in_a_circle_and_out_of_the_tree_are_not_followed() {
    let tree = Tree::named("ich8-ahci");
    symlink("round", tree.place("sys/block/round")).unwrap();
    symlink("../../../../../../etc", tree.place("sys/block/etc")).unwrap();
    symlink("nowhere", tree.place("sys/block/gone")).unwrap();
    told(&tree, "block/round", "form a loop");
    told(&tree, "block/etc", "leads outside the root");
    told(&tree, "block/gone", "leads nowhere");
    assert_eq!(tree.inspect().devices.len(), 1);
}

#[test]
fn an_absolute_link_starts_at_the_root_of_the_tree() {
    let tree = Tree::named("ich8-ahci");
    tree.remove("sys/block/sda");
    symlink(format!("/{BLOCK}"), tree.place("sys/block/sda")).unwrap();
    assert_eq!(tree.device("sda").queue_depth, Some(31));
    fs::remove_file(tree.place("proc/cmdline")).unwrap();
    symlink("/etc/hostname", tree.place("proc/cmdline")).unwrap();
    assert_eq!(tree.inspect().problems, [], "the tree has no /etc");
}

#[test]
fn folders_and_pipes_in_place_of_files_are_told() {
    let tree = Tree::named("ich8-ahci");
    tree.remove(SCHEDULER);
    fs::create_dir(tree.place(SCHEDULER)).unwrap();
    told(&tree, "queue/scheduler", "not a regular file");
    let requests = tree.place(&format!("{BLOCK}/queue/nr_requests"));
    fs::remove_file(&requests).unwrap();
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, requests, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    told(&tree, "queue/nr_requests", "not a regular file");
}

#[test]
fn names_that_are_not_text_are_told() {
    let tree = Tree::named("ich8-ahci");
    let name = std::ffi::OsStr::from_bytes(b"sd\xff");
    fs::create_dir(tree.folder.path().join("sys/block").join(name)).unwrap();
    told(&tree, "sys/block/sd\u{fffd}", "not text");
}

#[test]
fn devices_made_of_each_other_end() {
    let tree = Tree::of(
        "sys/block/dm-0/dm/uuid = LVM-a\nsys/block/dm-0/slaves/dm-1 -> ../../dm-1\n\
         sys/block/dm-1/dm/uuid = LVM-b\nsys/block/dm-1/slaves/dm-0 -> ../../dm-0\n",
    );
    let found = tree.inspect();
    assert_eq!(found.devices.len(), 2);
    outline(&found);
    let root = drivelab_host::Root::new(tree.folder.path());
    let options = drivelab_host::Options::default();
    let below =
        drivelab_host::inspect(&root, &[drivelab_host::Wanted::Name("dm-0".into())], &options)
            .unwrap();
    assert_eq!(below.devices.len(), 2);
}

#[test]
fn a_name_cannot_drive_the_terminal() {
    let tree = Tree::named("nvme-x2");
    let model = "sys/devices/pci0000:00/0000:00:1c.4/0000:03:00.0/nvme/nvme0/model";
    fs::write(tree.place(model), "evil\x1b[2J\x07drive\n").unwrap();
    let shown = text(&outline(&tree.inspect()));
    assert!(shown.contains("evil?[2J?drive") && !shown.contains('\x1b'), "{shown}");
}

#[test]
fn no_tree_at_all_is_told() {
    let tree = Tree::of("");
    told(&tree, "sys/block", "is missing");
}

/// Paths that are looked at, and contents that could stand there.
fn attribute() -> impl Strategy<Value = (String, Vec<u8>)> {
    let base = "sys/devices/pci0000:00/0000:00:1f.2";
    let paths = [
        "class",
        "vendor",
        "current_link_speed",
        "current_link_width",
        "max_link_width",
        "ata1/link1/ata_link/link1/sata_spd",
        "ata1/link1/dev1.0/ata_device/dev1.0/id",
        "ata1/link1/dev1.0/ata_device/dev1.0/spdn_cnt",
        "ata1/host0/target0:0:0/0:0:0:0/queue_depth",
        "ata1/host0/target0:0:0/0:0:0:0/scsi_disk/0:0:0:0/cache_type",
        "ata1/host0/target0:0:0/0:0:0:0/block/sda/size",
        "ata1/host0/target0:0:0/0:0:0:0/block/sda/inflight",
        "ata1/host0/target0:0:0/0:0:0:0/block/sda/alignment_offset",
        "ata1/host0/target0:0:0/0:0:0:0/block/sda/queue/scheduler",
        "ata1/host0/target0:0:0/0:0:0:0/block/sda/queue/physical_block_size",
        "ata1/host0/target0:0:0/0:0:0:0/block/sda/queue/optimal_io_size",
        "ata1/host0/target0:0:0/0:0:0:0/block/sda/queue/read_ahead_kb",
        "ata1/host0/target0:0:0/0:0:0:0/block/sda/sda1/start",
        "ata1/host0/target0:0:0/0:0:0:0/block/sda/md/degraded",
    ];
    let mut paths: Vec<String> = paths.iter().map(|path| format!("{base}/{path}")).collect();
    let tables = ["proc/cmdline", "proc/mounts", "proc/mdstat", "proc/self/mountinfo", "dmesg"];
    paths.extend(tables.map(str::to_owned));
    let content = prop_oneof![
        any::<Vec<u8>>(),
        "-?[0-9]{0,30}\n?".prop_map(String::into_bytes),
        "[ -~\n]{0,80}".prop_map(String::into_bytes),
        "(ata1.00: |ahci 0000:00:1f.2: |md0 : active |libata.force=)[ -~\n]{0,60}"
            .prop_map(String::into_bytes),
    ];
    (proptest::sample::select(paths), content)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn any_content_is_read_without_a_panic(
        changes in proptest::collection::vec(attribute(), 1..12),
    ) {
        let tree = Tree::named("ich8-ahci");
        for (path, content) in &changes {
            fs::write(tree.place(path), content).unwrap();
        }
        let found = tree.inspect();
        outline(&found);
        let json = serde_json::to_string(&found).unwrap();
        prop_assert_eq!(serde_json::from_str::<drivelab_host::Inspection>(&json).unwrap(), found);
    }
}

#[test]
fn a_tower_of_devices_needs_no_square_of_lines() {
    let levels = 300;
    let lines = (0..levels).map(|level: usize| {
        let folder = format!("sys/devices/virtual/block/dm-{level}");
        let below = level.saturating_sub(1);
        format!(
            "{folder}/dm/name = level{level}\n{folder}/size = 2048\n\
             {folder}/slaves/dm-{below} -> ../../dm-{below}\n\
             sys/block/dm-{level} -> ../devices/virtual/block/dm-{level}"
        )
    });
    let tree = Tree::of(&lines.collect::<Vec<_>>().join("\n"));
    let found = tree.inspect();
    assert_eq!(found.devices.len(), levels);
    let drawn = outline(&found).len();
    assert!(drawn < levels * 50, "{drawn} lines");
}
