//! Which attributes are read: those that would send a command or wake a device only where asked.

use std::os::unix::ffi::OsStrExt as _;

use drivelab_host::{
    FindingId, InspectError, Inspection, Options, Reader, Root, Severity, Wanted, inspect,
    inspect_within, outline,
};

use crate::tree::{Tree, text};

fn asked_for(tree: &Tree, name: &str) -> Result<Inspection, InspectError> {
    let root = Root::new(tree.folder.path());
    inspect(&root, &[Wanted::Name(name.into())], &Options::default())
}

#[test]
fn no_disk_is_asked_for_its_temperature_unless_that_is_wanted() {
    for (tree, disk) in [("ich8-ahci", "sda"), ("nvme-x2", "nvme0n1")] {
        assert_eq!(Tree::named(tree).device(disk).temperature_celsius, None, "{disk}");
    }
}

#[test]
fn a_temperature_is_asked_of_a_drive_that_is_awake() {
    const STATUS: &str = "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/\
                          power/runtime_status";
    let options = Options { temperature: true, ..Options::default() };
    let check = |status: Option<&str>, expected| {
        let tree = Tree::named("ich8-ahci");
        match status {
            Some(status) => tree.add(&format!("{STATUS} = {status}")),
            None => tree.remove(STATUS),
        };
        let found = inspect(&Root::new(tree.folder.path()), &[], &options).unwrap();
        assert_eq!(found.devices[0].temperature_celsius, expected, "{status:?}");
    };
    check(Some("active"), Some(34));
    check(Some("unsupported"), Some(34));
    check(None, Some(34));
    for asleep in ["suspended", "suspending", "resuming", "error", "x"] {
        check(Some(asleep), None);
    }
}

#[test]
fn pipes_in_place_of_attributes_and_logs_are_no_end() {
    let tree = Tree::named("ich8-ahci");
    let disk = "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0";
    let pipes = [
        "dmesg",
        "proc/mounts",
        "proc/mdstat",
        &format!("{disk}/hwmon/hwmon2/temp1_input"),
        &format!("{disk}/power/runtime_status"),
        &format!("{disk}/block/sda/size"),
        "sys/devices/pci0000:00/0000:00:1f.2/class",
    ];
    for path in pipes {
        let place = tree.place(path);
        let _ = std::fs::remove_file(&place);
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
        rustix::fs::mknodat(rustix::fs::CWD, place, kind, mode, 0).unwrap();
    }
    let mut reader = Reader::new(tree.folder.path());
    let options = Options { temperature: true, ..Options::default() };
    let found = inspect_within(&mut reader, &[], &options).unwrap();
    assert_eq!(found.devices.len(), 1);
    let told = |path: &str| found.problems.iter().any(|it| it.path.ends_with(path));
    for path in pipes {
        assert!(told(path), "{path}: {:?}", found.problems);
    }
}

#[test]
fn a_suspended_controller_is_not_woken_for_its_link() {
    let tree = Tree::named("nvme-x2");
    tree.add("sys/devices/pci0000:00/0000:00:1c.4/0000:03:00.0/power/runtime_status = suspended");
    let disk = tree.device("nvme0n1");
    assert_eq!((disk.pcie.speed_gts, disk.pcie.width, disk.pcie.max_width), (None, None, None));
    assert!(!disk.findings.iter().any(|finding| finding.id == FindingId::PcieDowngraded));
    assert!(text(&outline(&tree.inspect())).contains("asleep: its link was not read"));
    // The bridge above it has an own state.
    let tree = Tree::named("nvme-x2");
    tree.add("sys/devices/pci0000:00/0000:00:1c.4/power/runtime_status = suspended");
    let disk = tree.device("nvme0n1");
    assert!(disk.pcie.speed_gts.is_some());
    assert!(disk.hops.iter().any(|hop| hop.about.contains("asleep")), "{:?}", disk.hops);
}

#[test]
fn names_that_are_not_text_count_among_the_entries_of_a_folder() {
    let tree = Tree::named("ich8-ahci");
    let folder = tree.folder.path().join("sys/block");
    for number in 0..16_500_u32 {
        let name = [&b"\xff"[..], number.to_string().as_bytes()].concat();
        std::fs::write(folder.join(std::ffi::OsStr::from_bytes(&name)), b"").unwrap();
    }
    let problems = tree.inspect().problems;
    let told = problems.iter().any(|problem| problem.message.contains("over 16384 entries"));
    assert!(told, "{} problems", problems.len());
}

#[test]
fn a_large_read_ahead_is_told_for_what_it_does() {
    let disk = "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda";
    let tree = Tree::named("ich8-ahci");
    tree.add(&format!("{disk}/queue/read_ahead_kb = 8192"));
    let found = tree.device("sda").findings;
    let found = found.iter().find(|it| it.id == FindingId::ReadaheadExtreme).unwrap();
    assert_eq!(found.severity, Severity::Warn);
    assert!(found.message.contains("mapped files"), "{}", found.message);
    assert!(!found.message.contains("random reads of files"), "{}", found.message);
    let command = "echo 128 | sudo tee /sys/block/sda/queue/read_ahead_kb";
    assert!(found.fix.contains(command), "{}", found.fix);
}

#[test]
fn a_large_read_ahead_of_a_virtual_disk_is_its_images_choice() {
    let tree = Tree::named("virtual");
    let disk = "sys/devices/pci0000:00/0000:00:05.0/virtio2/block/vda/queue/read_ahead_kb";
    tree.add(&format!("{disk} = 8192"));
    let found = tree.device("vda").findings;
    let found = found.iter().find(|it| it.id == FindingId::ReadaheadExtreme).unwrap();
    assert_eq!((found.severity, found.is_misconfiguration()), (Severity::Info, false));
}

#[test]
fn a_name_that_is_missing_is_answered_with_the_disks_that_there_are() {
    let mut tree = "sys/block/vda/size = 83886080\n".to_owned();
    for number in 0..8 {
        tree += &format!("sys/block/loop{number}/size = 2048\n");
        tree += &format!("sys/block/loop{number}/loop/backing_file = /f{number}\n");
    }
    let tree = Tree::of(&tree);
    let error = asked_for(&tree, "/dev/nonexist").unwrap_err().to_string();
    assert!(error.contains("there are vda, loop"), "{error}");
    assert!(error.contains("4 more"), "{error}");
}

#[test]
fn without_a_tree_nothing_is_claimed() {
    let tree = Tree::of("");
    let error = asked_for(&tree, "vda").unwrap_err().to_string();
    assert!(error.contains("sys/block is missing"), "{error}");
    let shown = text(&outline(&tree.inspect()));
    assert!(!shown.contains("no problems found"), "{shown}");
    assert!(shown.contains("no disk could be inspected"), "{shown}");
}

#[test]
fn a_drive_at_its_limit_of_temperature_is_too_hot() {
    let sensor = "sys/devices/pci0000:00/0000:00:1c.4/0000:03:00.0/nvme/nvme0/hwmon1";
    let check = |change: &str, temperature, expected| {
        let tree = Tree::named("nvme-x2");
        tree.add(&change.replace("H/", &format!("{sensor}/")));
        let options = Options { temperature, ..Options::default() };
        let found = inspect(&Root::new(tree.folder.path()), &[], &options).unwrap();
        let hot = found.devices[0].findings.iter().any(|it| it.id == FindingId::TooHot);
        assert_eq!(hot, expected, "{change}");
    };
    check("H/temp1_crit = 84850", true, false);
    check("H/temp1_input = 84850\nH/temp1_crit = 84850", true, true);
    check("H/temp1_alarm = 1", true, true);
    check("H/temp1_alarm = 1", false, false);
    check("H/temp1_crit = 0", true, false);
}
