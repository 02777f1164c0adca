//! Each tree is described as what it is.

use drivelab_host::bus::ata::NcqOff;
use drivelab_host::{Device, Kind, Options, Root, Speed, Wanted, inspect};

use crate::tree::Tree;

/// Kind, mode and driver of the controller, queue depth, NCQ.
type Attachment<'a> = (Kind, Option<&'a str>, Option<&'a str>, Option<u32>, Option<bool>);

fn attachment(device: &Device) -> Attachment<'_> {
    let controller = &device.controller;
    (
        device.kind,
        controller.mode.as_deref(),
        controller.driver.as_deref(),
        device.queue_depth,
        device.ncq,
    )
}

fn check(tree: &str, disk: &str, expected: Attachment<'_>) {
    let device = Tree::named(tree).device(disk);
    assert_eq!(attachment(&device), expected, "{disk} of {tree}");
}

#[test]
fn every_kind_of_attachment_is_recognised() {
    let (ide, raid) = (Some("ide-compatibility"), Some("raid"));
    check("ich8-ide", "sda", (Kind::Ata, ide, Some("ata_piix"), Some(1), Some(false)));
    check("ich8-ahci", "sda", (Kind::Ata, Some("ahci"), Some("ahci"), Some(31), Some(true)));
    let native = (Kind::Ata, Some("ide-native"), Some("ata_piix"), Some(1), Some(false));
    check("shared-ide-port", "sda", native);
    check("shared-ide-port", "sdb", native);
    check("sata-mv", "sdb", (Kind::Ata, Some("scsi"), Some("sata_mv"), Some(31), Some(true)));
    check("stex", "sdc", (Kind::Scsi, raid, Some("stex"), Some(32), None));
    check("nvme-x2", "nvme0n1", (Kind::Nvme, Some("nvme"), Some("nvme"), Some(1023), None));
    let multipath = (Kind::Nvme, Some("nvme"), Some("nvme"), Some(1023), None);
    check("nvme-multipath", "nvme0n1", multipath);
    check("usb", "sdd", (Kind::Usb, Some("xhci"), Some("xhci_hcd"), Some(1), None));
    check("usb", "sde", (Kind::Usb, Some("xhci"), Some("xhci_hcd"), Some(30), None));
    check("virtual", "vda", (Kind::Virtio, Some("virtio"), Some("virtio-pci"), Some(128), None));
    let hyperv = (Kind::HyperV, Some("hyperv"), Some("hv_storvsc"), Some(1024), None);
    check("virtual", "sda", hyperv);
    check("virtual", "xvda", (Kind::Xen, Some("xen"), Some("vbd"), None, None));
}

#[test]
fn flash_and_memory_of_other_kinds_have_names_of_their_own() {
    let tree = Tree::of(
        "sys/block/pmem0/size = 8\nsys/block/mtdblock2/size = 8\nsys/block/dasda/size = 8\n\
         sys/block/mmcblk0/size = 8\nsys/block/mmcblk0boot0/size = 8\n\
         sys/block/mmcblk0rpmb/size = 8\n\
         sys/block/sda -> ../devices/platform/1d84000.ufshc/host0/target0:0:0/0:0:0:0/block/sda\n\
         sys/devices/platform/1d84000.ufshc/host0/target0:0:0/0:0:0:0/block/sda/size = 8\n\
         sys/devices/platform/1d84000.ufshc/host0/target0:0:0/0:0:0:0/block/sda/device \
         -> ../../../0:0:0:0\n\
         sys/class/scsi_host/host0/proc_name = ufshcd",
    );
    let kinds: Vec<(String, Kind)> =
        tree.inspect().devices.into_iter().map(|device| (device.name, device.kind)).collect();
    let expected = [
        ("dasda", Kind::Dasd),
        ("mmcblk0", Kind::Mmc),
        ("mtdblock2", Kind::Mtd),
        ("pmem0", Kind::Pmem),
        ("sda", Kind::Ufs),
    ];
    assert_eq!(kinds, expected.map(|(name, kind)| (name.to_owned(), kind)));
}

#[test]
fn a_controller_is_told_by_class_interface_and_number() {
    let controller = Tree::named("ich8-ide").device("sda").controller;
    assert_eq!(controller.pci_class.as_deref(), Some("0x0101"));
    assert_eq!(controller.prog_if.as_deref(), Some("0x8a"));
    assert_eq!(controller.vendor_device.as_deref(), Some("8086:2820"));
    assert_eq!(controller.meaning.as_deref(), Some("IDE, compatibility mode, switchable"));
}

#[test]
fn a_healthy_disk_is_described_in_full() {
    let sda = Tree::named("ich8-ahci").device("sda");
    assert_eq!(sda.link.speed_gbps, Some(Speed::mbps(3000)));
    assert_eq!(sda.link.max_gbps, Some(Speed::mbps(3000)));
    assert_eq!(sda.write_cache.device.as_deref(), Some("write back"));
    assert_eq!(sda.write_cache.kernel.as_deref(), Some("write back"));
    assert_eq!((sda.model.as_deref(), sda.rpm), (Some("ST31000333AS"), Some(7200)));
    assert_eq!(sda.capacity_bytes, Some(1_000_204_886_016));
    assert_eq!(sda.power.link_policy.as_deref(), Some("max_performance"));
    assert_eq!((sda.smart.supported, sda.smart.enabled), (Some(true), Some(true)));
    assert_eq!(sda.queue.scheduler.as_deref(), Some("mq-deadline"));
    assert_eq!(sda.partitions[0].mounts[0].point, "/");
    assert_eq!(sda.serial, None, "serial numbers are told only when asked for");
    let tree = Tree::named("ich8-ahci");
    let options = Options { serials: true, ..Options::default() };
    let told = inspect(&Root::new(tree.folder.path()), &[], &options).unwrap();
    assert_eq!(told.devices[0].serial.as_deref(), Some("9TE0ABCD"));
}

#[test]
fn pcie_is_read_along_the_way() {
    let pcie = Tree::named("nvme-x2").device("nvme0n1").pcie;
    assert_eq!((pcie.width, pcie.max_width, pcie.slot_max_width), (Some(2), Some(4), Some(2)));
    assert_eq!(pcie.bandwidth_gbps, Some(Speed::mbps(15_752)));
    assert_eq!(pcie.max_bandwidth_gbps, Some(Speed::mbps(31_504)));
}

#[test]
fn what_is_made_of_other_devices_leads_down_to_the_disk() {
    let tree = Tree::named("stacked");
    let root = Root::new(tree.folder.path());
    let names = |wanted: &str| -> Vec<(String, Kind)> {
        let found =
            inspect(&root, &[Wanted::Name(wanted.to_owned())], &Options::default()).unwrap();
        found.devices.into_iter().map(|device| (device.name, device.kind)).collect()
    };
    let expected = [
        ("dm-1", Kind::Luks),
        ("dm-0", Kind::Lvm),
        ("md0", Kind::Md),
        ("sda1", Kind::Partition),
        ("sda", Kind::Ata),
    ];
    let expected = expected.map(|(name, kind)| (name.to_owned(), kind));
    for name in ["dm-1", "/dev/dm-1", "/dev/mapper/home", "home"] {
        assert_eq!(names(name), expected, "{name}");
    }
}

#[test]
fn a_file_is_traced_to_its_device() {
    let check = |tree: &str, path: &str, number: &str, expected: Result<&str, &str>| {
        let tree = Tree::named(tree);
        let root = Root::new(tree.folder.path());
        let wanted = Wanted::Holder { path: path.to_owned(), number: number.to_owned() };
        let found = inspect(&root, &[wanted], &Options::default());
        let first = found.map(|found| found.devices[0].name.clone()).map_err(|e| e.to_string());
        assert_eq!(
            first.as_deref().map_err(|error| error.contains(expected.unwrap_err())),
            expected.map_err(|_| true),
            "{path}"
        );
    };
    check("ich8-ahci", "/srv/file", "8:1", Ok("sda1"));
    check("stacked", "/home/me/file", "253:1", Ok("dm-1"));
    // A number that sysfs does not know (btrfs, overlay): by the table of mounts.
    check("stacked", "/home/me/file", "0:45", Ok("dm-1"));
    check("stacked", "/tmp/file", "0:45", Err("not on a block device"));
    check("stacked", "/tmp/file", "../../..", Err("not on a block device"));
}

#[test]
fn a_file_of_a_btrfs_over_several_disks_is_on_all_of_them() {
    let disks = ["sdx", "sdy", "sdz"].map(|name| {
        format!("@ sys/devices/{name}\nsys/block/{name} -> ../devices/{name}\n./size = 4096\n")
    });
    let mounts = "proc/self/mountinfo = 29 1 0:45 / /pool rw - btrfs /dev/sdx rw\\n30 1 0:46 / /own \
                  rw - btrfs /dev/sdz rw\\n\n";
    let members = [("01", "sdx"), ("01", "sdy"), ("02", "sdz")].map(|(system, name)| {
        format!("sys/fs/btrfs/{system}/devices/{name} -> ../../../../devices/{name}\n")
    });
    let tree = Tree::of(&[&disks.concat(), mounts, &members.concat()].concat());
    let found = |path: &str, number: &str| -> Vec<String> {
        let wanted = Wanted::Holder { path: path.to_owned(), number: number.to_owned() };
        let root = Root::new(tree.folder.path());
        let found = inspect(&root, &[wanted], &Options::default()).unwrap();
        found.devices.into_iter().map(|device| device.name).collect()
    };
    assert_eq!(found("/pool/file", "0:45"), ["sdx", "sdy"]);
    assert_eq!(found("/own/file", "0:46"), ["sdz"]);
}

#[test]
fn a_device_that_is_not_there_is_named_with_those_that_are() {
    let tree = Tree::named("ich8-ahci");
    let wanted = [Wanted::Name("/dev/sdb".to_owned())];
    let error = inspect(&Root::new(tree.folder.path()), &wanted, &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "there is no block device `/dev/sdb`; there are sda");
}

#[test]
fn files_and_memory_are_named_as_such_and_empty_ones_left_out() {
    let devices = Tree::named("not-disks").inspect().devices;
    let kinds: Vec<(&str, Kind)> = devices.iter().map(|d| (d.name.as_str(), d.kind)).collect();
    assert_eq!(kinds, [("loop0", Kind::Loop), ("zram0", Kind::Zram)]);
    let file = devices[0].backing.as_ref().and_then(|backing| backing.path.as_deref());
    assert_eq!(file, Some("/srv/image.ext4"));
}

#[test]
fn reasons_for_ncq_being_off_are_told_apart() {
    let check = |change: &str, expected: Option<NcqOff>| {
        let tree = Tree::named("ich8-ahci");
        let depth =
            "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/queue_depth";
        tree.add(&format!("{depth} = 1\n{change}"));
        assert_eq!(tree.device("sda").ncq_off_cause, expected, "{change}");
    };
    let line = "ata1.00: 1953525168 sectors, multi 16: LBA48";
    check("", Some(NcqOff::Runtime));
    check("proc/cmdline = quiet libata.force=noncq", Some(NcqOff::Forced));
    check("proc/cmdline = quiet libata.force=1.00:noncq", Some(NcqOff::Forced));
    check("proc/cmdline = quiet libata.force=2:noncq", Some(NcqOff::Runtime));
    check("sys/module/libata/parameters/force = noncq", Some(NcqOff::Forced));
    check(&format!("dmesg = {line} NCQ (not used)"), Some(NcqOff::Quirk));
    check(&format!("dmesg = {line} NCQ (depth 0/32)"), Some(NcqOff::Host));
    check("dmesg = ata1.00: NCQ disabled due to excessive errors", Some(NcqOff::Errors));
    let drive = "sys/devices/pci0000:00/0000:00:1f.2/ata1/link1/dev1.0/ata_device/dev1.0/id";
    check(&format!("{drive} = !identify 76=0006 217=1518\ndmesg = {line}"), Some(NcqOff::Drive));
}

#[test]
fn json_reads_back_and_is_the_same_each_time() {
    for tree in ["ich8-ide", "shared-ide-port", "nvme-x2", "stacked", "usb", "virtual"] {
        let tree = Tree::named(tree);
        let first = tree.inspect();
        let json = serde_json::to_string(&first).unwrap();
        assert_eq!(serde_json::to_string(&tree.inspect()).unwrap(), json);
        assert_eq!(serde_json::from_str::<drivelab_host::Inspection>(&json).unwrap(), first);
    }
}

#[test]
fn a_drive_behind_a_volume_management_device_shows_it_on_the_way() {
    let tree = Tree::named("vmd");
    let device = tree.device("nvme0n1");
    assert_eq!(device.controller.address.as_deref(), Some("10000:e1:00.0"));
    let first = &device.hops[0];
    assert_eq!(first.name, "0000:00:0e.0");
    assert!(first.about.starts_with("Intel VMD"), "{first:?}");
    // The function of class RAID hides nothing here: the drive is there.
    assert!(tree.inspect().devices.len() == 1);
    let findings = tree.findings("nvme0n1");
    let expected =
        [drivelab_host::FindingId::WriteCacheVolatile, drivelab_host::FindingId::RaidMode];
    assert_eq!(findings, expected);
}

#[test]
fn stacks_of_other_makes_are_named_for_what_they_are() {
    let devices = Tree::named("other-stacks").inspect().devices;
    let kinds: Vec<(&str, Kind)> = devices.iter().map(|d| (d.name.as_str(), d.kind)).collect();
    let expected = [
        ("bcache0", Kind::Bcache),
        ("dm-0", Kind::Multipath),
        ("foo0", Kind::Other),
        ("loop0", Kind::Loop),
        ("md0", Kind::Md),
        ("mmcblk0", Kind::Mmc),
        ("nbd0", Kind::Network),
        ("sda", Kind::Sas),
    ];
    assert_eq!(kinds, expected);
    let sas = devices.last().unwrap();
    assert_eq!(sas.link.speed_gbps.map(|speed| speed.to_string()).as_deref(), Some("3.0"));
}
