//! Each finding, from a tree that has it and one that has not.

use drivelab_host::FindingId::{self, *};
use drivelab_host::{Finding, Severity};

use crate::tree::Tree;

/// The SCSI device and the block device of the healthy disk.
const DEVICE: &str = "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0";
const LINK: &str = "sys/devices/pci0000:00/0000:00:1f.2/ata1/link1";

/// Findings of the healthy disk after a change; `D/` stands for its SCSI device, `B/` for its
/// block device, `L/` for its link.
fn changed(change: &str) -> Vec<FindingId> {
    tree_with(change).findings("sda")
}

fn tree_with(change: &str) -> Tree {
    let tree = Tree::named("ich8-ahci");
    for line in change.lines() {
        let (from, to) = match line.split_at(2) {
            ("D/", rest) => (DEVICE.to_owned(), rest),
            ("B/", rest) => (format!("{DEVICE}/block/sda"), rest),
            ("L/", rest) => (LINK.to_owned(), rest),
            _ => (String::new(), line),
        };
        let line = if from.is_empty() { to.to_owned() } else { format!("{from}/{to}") };
        tree.add(&line);
    }
    tree
}

/// The change brings `finding`, and nothing else that the healthy disk has not.
fn check(change: &str, finding: FindingId) {
    let healthy = changed("");
    let mut found = changed(change);
    found.retain(|id| !healthy.contains(id));
    found.dedup();
    assert_eq!(found, [finding], "{change}");
}

/// The change brings no finding.
fn check_none(change: &str) {
    assert_eq!(changed(change), changed(""), "{change}");
}

#[test]
fn a_healthy_disk_has_only_its_volatile_cache() {
    assert_eq!(changed(""), [WriteCacheVolatile]);
}

#[test]
fn trees_have_what_their_comments_say() {
    let check = |tree: &str, disk: &str, expected: &[FindingId]| {
        let found = Tree::named(tree).findings(disk);
        assert_eq!(found, expected, "{disk} of {tree}");
    };
    check("ich8-ide", "sda", &[IdeEmulation, NcqOff, WriteCacheVolatile, QueueShallow]);
    let shared = [IdeEmulation, NcqOff, LinkBelowCapability, LinkDownshift, WriteCacheVolatile];
    check("shared-ide-port", "sda", &shared);
    check("shared-ide-port", "sdb", &shared);
    check("sata-mv", "sdb", &[WriteCacheVolatile]);
    check("stex", "sdc", &[WriteCacheOff, RaidMode]);
    check("nvme-x2", "nvme0n1", &[PcieDowngraded, WriteCacheVolatile]);
    check("usb", "sdd", &[WriteCacheViewDiffers, UsbStorage, KernelForced]);
    check("usb", "sde", &[WriteCacheVolatile]);
    check("virtual", "vda", &[WriteCacheVolatile]);
    check("virtual", "sda", &[]);
    check("virtual", "xvda", &[]);
    check("stacked", "md0", &[MdDegraded, MdResyncing]);
    check("stacked", "sda", &[WriteCacheVolatile]);
    check("stacked", "dm-0", &[]);
    check("not-disks", "loop0", &[]);
    check("misaligned", "sda", &[Misaligned, WriteCacheVolatile]);
    check("ncq-quirk", "sda", &[NcqOff, WriteCacheVolatile]);
    let forced = [NcqOff, LinkBelowCapability, WriteCacheVolatile, KernelForced];
    check("libata-force", "sda", &forced);
    check("nvme-multipath", "nvme0n1", &[PcieDowngraded]);
}

#[test]
fn parallel_disks_are_no_ide_emulation() {
    let tree = Tree::named("ich8-ide");
    // QEMU's PIIX3 with a drive that is not SATA (word 76 is 0).
    tree.add(
        "sys/devices/pci0000:00/0000:00:1f.2/class = 0x010180\n\
         sys/devices/pci0000:00/0000:00:1f.2/device = 0x7010\n\
         sys/class/ata_device/dev1.0/id = !identify model=QEMU_HARDDISK 82=0021 85=0021\n\
         dmesg = ata1: PATA max MWDMA2 cmd 0x1f0 ctl 0x3f6 bmdma 0xc040 irq 14",
    );
    let found = tree.findings("sda");
    assert!(!found.contains(&IdeEmulation) && !found.contains(&NcqOff), "{found:?}");
}

#[test]
fn links() {
    check("L/ata_link/link1/sata_spd = 1.5 Gbps", LinkBelowCapability);
    check_none("L/ata_link/link1/sata_spd = <unknown>");
    check("L/dev1.0/ata_device/dev1.0/spdn_cnt = 2", LinkDownshift);
    check("dmesg = ata1: limiting SATA link speed to 1.5 Gbps", LinkDownshift);
    check_none("dmesg = ata7: limiting SATA link speed to 1.5 Gbps");
    // The healthy disk's list has the attempt that found it.
    check("L/dev1.0/ata_device/dev1.0/ering = [17179600.5]BusError", LinkErrors);
    check_none("L/dev1.0/ata_device/dev1.0/ering = [17179600.5]DeviceError");
    let two = "[17179569.3]Unknown\\n[17179600.5]Timeout, BusError";
    check(&format!("L/dev1.0/ata_device/dev1.0/ering = {two}"), LinkErrors);
    let exception = "ata1.00: exception Emask 0x10 SAct 0x1 SErr 0x400100 action 0x6 frozen";
    check(&format!("dmesg = {exception}"), LinkErrors);
    check("dmesg = I/O error, dev sda, sector 2048 op 0x0:(READ)", IoErrors);
    check_none("dmesg = I/O error, dev sdb, sector 2048 op 0x0:(READ)");
    // What failed before the disk was attached under this name was another's.
    let again = "I/O error, dev sda, sector 8 op 0x0:(READ)\\nsd 0:0:0:0: [sda] Attached SCSI disk";
    check_none(&format!("dmesg = {again}"));
    let tree = Tree::named("not-disks");
    tree.add("dmesg = I/O error, dev loop0, sector 8 op 0x0:(READ)");
    assert!(!tree.findings("loop0").contains(&IoErrors), "a file has no link");
    check_none("dmesg = I/O error, dev sdb, sector 2048 op 0x0:(READ)");
    check_none("dmesg = ata1: hard resetting link");
}

#[test]
fn queues() {
    check("D/queue_depth = 1", NcqOff);
    check("D/queue_depth = 4", QueueShallow);
    check("B/queue/nr_requests = 16", QueueShallow);
    check_none("D/queue_depth = 32");
    // The kernel itself gives an elevator 256 requests, and gave every disk 128 before Linux 5.0.
    let nvme = "sys/devices/pci0000:00/0000:00:1c.4/0000:03:00.0/nvme/nvme0/nvme0n1/queue";
    let held = |requests: u32| {
        let change = format!("{nvme}/nr_requests = {requests}");
        finding("nvme-x2", &change, "nvme0n1", QueueShallow).map(|found| found.severity)
    };
    assert_eq!(held(256), Some(Severity::Info));
    assert_eq!(held(128), Some(Severity::Info));
    assert_eq!(held(64), Some(Severity::Warn));
    assert_eq!(held(1023), None);
}

#[test]
fn write_caches() {
    let id = "L/dev1.0/ata_device/dev1.0/id = !identify model=ST31000333AS 75=001f 76=0106 82=0021";
    let drive_off =
        format!("D/scsi_disk/0:0:0:0/cache_type = write through\n{id} 85=0041 217=1c20");
    let off = format!("{drive_off}\nB/queue/write_cache = write through");
    assert_eq!(changed(&off), [WriteCacheOff]);
    check("B/queue/write_cache = write through", WriteCacheViewDiffers);
    assert_eq!(changed(&drive_off), [WriteCacheViewDiffers, WriteCacheOff]);
    // The kernel's copy says off, the drive's identity says on.
    let stale =
        "D/scsi_disk/0:0:0:0/cache_type = write through\nB/queue/write_cache = write through";
    assert_eq!(changed(stale), [WriteCacheViewDiffers, WriteCacheVolatile]);
    for finding in tree_with(stale).device("sda").findings {
        // No finding quotes the stale copy alone.
        let identity = "the device reports: write through; the drive's identity (word 85): on";
        assert!(finding.evidence.starts_with(identity), "{finding:?}");
        let rescan = "rescan the disk (`echo 1 | sudo tee /sys/block/sda/device/rescan`)";
        assert!(finding.fix.contains(rescan), "{finding:?}");
    }
    // An NVMe drive that reports a volatile cache has one, whatever its name.
    let model = "sys/devices/pci0000:00/0000:00:1c.4/0000:03:00.0/nvme/nvme0/model";
    let tree = Tree::named("nvme-x2");
    tree.add(&format!("{model} = INTEL SSDPE2KX040T8"));
    assert!(tree.findings("nvme0n1").contains(&WriteCacheVolatile));
    // A drive whose maker promises that cached writes survive.
    let protected = "!identify model=INTEL_SSDSC2BA400G3 75=001f 76=0106 82=0021 85=0061 217=0001";
    let change = format!("L/dev1.0/ata_device/dev1.0/id = {protected}\nB/queue/rotational = 0");
    assert_eq!(changed(&change), []);
    check("proc/mounts = /dev/sda1 / ext4 rw,nobarrier 0 0", Nobarrier);
    check("proc/mounts = /dev/sda / ext4 rw,barrier=0 0 0", Nobarrier);
    check_none("proc/mounts = /dev/sdb1 / ext4 rw,nobarrier 0 0");
}

#[test]
fn settings() {
    check("B/queue/scheduler = [none] mq-deadline", SchedulerUnfit);
    check("B/queue/rotational = 0", SchedulerUnfit);
    check_none("B/queue/scheduler = mq-deadline [bfq] none");
    check("B/queue/read_ahead_kb = 0", ReadaheadExtreme);
    check("B/queue/read_ahead_kb = 65536", ReadaheadExtreme);
    check_none("B/queue/read_ahead_kb = 4096");
    check("proc/cmdline = libata.force=udma6", KernelForced);
    check("sys/module/libata/parameters/noacpi = 1", KernelForced);
    check_none("sys/module/libata/parameters/noacpi = 0");
    check_none("proc/cmdline = libata.force=2:udma6");
    check("B/inflight =        3        1", DeviceBusy);
    check("B/queue/iostats = 0", IostatsOff);
    check_none("B/queue/iostats = 1");
    let nvme = Tree::named("nvme-x2");
    nvme.add(
        "sys/devices/pci0000:00/0000:00:1c.4/0000:03:00.0/nvme/nvme0/nvme0n1/queue/scheduler \
         = [bfq]",
    );
    assert!(nvme.findings("nvme0n1").contains(&SchedulerUnfit));
}

/// Returns the first finding `id` of disk `name` of a tree after a change.
fn finding(tree: &str, change: &str, name: &str, id: FindingId) -> Option<Finding> {
    let found = Tree::named(tree).add(change).device(name).findings;
    found.into_iter().find(|finding| finding.id == id)
}

#[test]
fn remedies_suit_the_bus() {
    let check = |tree, change: &str, name, id, expected: &str| {
        let fix = finding(tree, change, name, id).unwrap().fix;
        assert!(fix.contains(expected), "{expected}: {fix}");
    };
    check("ich8-ahci", "", "sda", WriteCacheVolatile, "`sudo hdparm -W0 /dev/sda`");
    let nvme = "`sudo nvme set-feature /dev/nvme0 --feature-id=6 --value=0`";
    check("nvme-x2", "", "nvme0n1", WriteCacheVolatile, nvme);
    check("usb", "", "sde", WriteCacheVolatile, "if the bridge passes it on");
    check("stex", "", "sdc", WriteCacheOff, "the controller's own tool");
    let driver = "sys/devices/pci0000:00/0000:00:03.0/0000:02:00.0/class = 0x010700";
    let sas = "`echo 'write back' | sudo tee /sys/class/scsi_disk/6:0:0:0/cache_type`";
    check("stex", driver, "sdc", WriteCacheOff, sas);
    let through = format!("{DEVICE}/block/sda/queue/write_cache = write through");
    check("ich8-ahci", &through, "sda", WriteCacheViewDiffers, "read it back");
    let array = "sys/devices/virtual/block/md0/queue/write_cache = write through";
    check("stacked", array, "md0", WriteCacheViewDiffers, "set the device up again");
    let stripes = "sys/devices/virtual/block/md0/queue/optimal_io_size = 1048576\n\
                   sys/devices/virtual/block/md0/queue/read_ahead_kb = 0";
    check("stacked", stripes, "md0", ReadaheadExtreme, "echo 2048 | sudo tee");
}

#[test]
fn options_of_legacy_queues_are_a_note_on_kernels_that_ignore_them() {
    let check = |release: &str, expected| {
        let change = format!("proc/cmdline = elevator=noop\nproc/sys/kernel/osrelease = {release}");
        let found = finding("ich8-ahci", &change, "sda", KernelForced).unwrap();
        assert_eq!(found.severity, expected, "{release}: {}", found.message);
    };
    check("4.19.0-5-amd64", Severity::Warn);
    check("5.0.0", Severity::Info);
    check("6.1.0-18-amd64", Severity::Info);
}

#[test]
fn quirks_from_modprobe_d_are_found() {
    let quirks = "sys/module/usb_storage/parameters/quirks = 174c:55aa:u";
    let found = finding("usb", quirks, "sde", KernelForced).unwrap();
    assert!(found.evidence.contains("/sys/module/usb_storage/parameters/quirks"), "{found:?}");
    assert_eq!(finding("usb", "", "sde", KernelForced), None);
    let slow = "sys/module/nvme_core/parameters/default_ps_max_latency_us = 0";
    assert!(finding("nvme-x2", slow, "nvme0n1", KernelForced).is_some());
}

#[test]
fn partitions_of_drives_with_large_sectors() {
    check("B/queue/physical_block_size = 4096\nB/sda1/start = 63", Misaligned);
    check_none("B/queue/physical_block_size = 4096");
    // 512-byte sectors do not mind; a drive that only says so in word 106 does.
    check_none("B/sda1/start = 63");
    let words = "!identify model=WD20EARS 75=001f 76=0106 82=0021 85=0061 106=6003 217=1518";
    check(&format!("L/dev1.0/ata_device/dev1.0/id = {words}\nB/sda1/start = 63"), Misaligned);
    // A drive shifted by jumper, and the table within an extended partition.
    let shifted =
        "B/queue/physical_block_size = 4096\nB/alignment_offset = 3584\nB/sda1/start = 63";
    check_none(shifted);
    check_none("B/queue/physical_block_size = 4096\nB/sda1/start = 63\nB/sda1/size = 2");
}

#[test]
fn a_forced_speed_is_found_though_the_kernel_gives_it_as_the_hardwares() {
    let found = changed(
        "proc/cmdline = libata.force=1.5Gbps\nL/ata_link/link1/sata_spd = 1.5 Gbps\n\
         L/ata_link/link1/hw_sata_spd_limit = 1.5 Gbps",
    );
    assert_eq!(found, [LinkBelowCapability, WriteCacheVolatile, KernelForced]);
}

#[test]
fn pcie_links() {
    let function = "sys/devices/pci0000:00/0000:00:1c.4/0000:03:00.0";
    let bridge = "sys/devices/pci0000:00/0000:00:1c.4";
    let check = |change: &str, expected: Option<Severity>| {
        let tree = Tree::named("nvme-x2");
        tree.add(&format!("{function}/current_link_width = 4\n{bridge}/current_link_width = 4"));
        tree.add(change);
        let found = tree.device("nvme0n1").findings;
        let found = found.iter().find(|finding| finding.id == PcieDowngraded);
        assert_eq!(found.map(|finding| finding.severity), expected, "{change}");
    };
    check("", None);
    check(&format!("{function}/current_link_width = 1"), Some(Severity::Error));
    check(&format!("{function}/current_link_speed = 2.5 GT/s PCIe"), Some(Severity::Error));
    // A faster drive in a slot of an older generation.
    check(&format!("{function}/max_link_speed = 16.0 GT/s PCIe"), Some(Severity::Warn));
    let line = "pci 0000:03:00.0: 2.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x1";
    check(&format!("dmesg = {line} link at 0000:00:1c.4"), Some(Severity::Error));
}

#[test]
fn arrays() {
    let check = |change: &str, expected: &[FindingId]| {
        let tree = Tree::named("stacked");
        tree.remove("proc/mdstat");
        tree.add("sys/devices/virtual/block/md0/md/degraded = 0");
        tree.add("sys/devices/virtual/block/md0/md/sync_action = idle");
        tree.add(change);
        assert_eq!(tree.findings("md0"), expected, "{change}");
    };
    check("", &[]);
    check("sys/devices/virtual/block/md0/md/degraded = 1", &[MdDegraded]);
    check("sys/devices/virtual/block/md0/md/array_state = inactive", &[MdDegraded]);
    check("sys/devices/virtual/block/md0/md/sync_action = resync", &[MdResyncing]);
    let through = "sys/devices/virtual/block/md0/queue/write_cache = write through";
    assert!(Tree::named("stacked").add(through).findings("md0").contains(&WriteCacheViewDiffers));
}

#[test]
fn arrays_with_other_data_than_they_should_have() {
    let check = |change: &str, expected: Option<(FindingId, Severity)>| {
        let idle = "sys/devices/virtual/block/md0/md/degraded = 0\n\
                    sys/devices/virtual/block/md0/md/sync_action = idle\n\
                    proc/mdstat = Personalities : [raid1]\n";
        let found = Tree::named("stacked").add(&format!("{idle}{change}")).device("md0").findings;
        let found: Vec<_> = found.iter().map(|it| (it.id, it.severity)).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{change}");
    };
    let md = "sys/devices/virtual/block/md0/md";
    check("", None);
    check(&format!("{md}/mismatch_cnt = 0"), None);
    check(&format!("{md}/mismatch_cnt = 128"), Some((MdMismatch, Severity::Info)));
    let parity = format!("{md}/mismatch_cnt = 8\n{md}/level = raid6");
    check(&parity, Some((MdMismatch, Severity::Warn)));
    let pending = "proc/mdstat = md0 : active (auto-read-only) raid1 sda1[0] sdb1[1]\\n\
                   10 blocks [2/2] [UU]\\n resync=PENDING";
    check(pending, Some((MdResyncing, Severity::Info)));
}

#[test]
fn a_desktop_drive_in_an_array_may_be_slower_than_the_kernel_waits() {
    let device = "sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0";
    let check = |change: &str, expected: bool| {
        let change = change.replace("D/", &format!("{device}/"));
        let found = finding("stacked", &change, "sda", TimeLimit);
        assert_eq!(found.is_some(), expected, "{change}");
        if let Some(found) = found {
            assert!(found.fix.contains("scterc,70,70 /dev/sda"), "{found:?}");
            assert!(found.fix.contains("undo: write 30"), "{found:?}");
        }
    };
    let desktop = "sys/class/ata_device/dev3.0/id = !identify model=WDC_WD40EZRZ-00GXCB0 75=001f \
                   76=070e 82=0021 85=0061 106=6003 217=1518";
    check("D/timeout = 30", false);
    check(&format!("D/timeout = 30\n{desktop}"), true);
    check(&format!("D/timeout = 180\n{desktop}"), false);
    let striped = "sys/devices/virtual/block/md0/md/level = raid0";
    check(&format!("D/timeout = 30\n{desktop}\n{striped}"), false);
}

#[test]
fn what_the_drive_and_the_kernel_count() {
    // libata counts each failed command.
    check("D/iotmo_cnt = 0x7", CommandErrors);
    check_none("D/iotmo_cnt = 0x0");
    let bridge = "sys/devices/pci0000:00/0000:00:14.0/usb2/2-2/2-2:1.0/host8/target8:0:0/8:0:0:0";
    let late = format!("{bridge}/iotmo_cnt = 0x1");
    let late = finding("usb", &late, "sde", CommandTimeouts).map(|found| found.severity);
    assert_eq!(late, Some(Severity::Info));
    check("L/dev1.0/ata_device/dev1.0/xfer_mode = XFER_PIO_4", TransferMode);
    check_none("L/dev1.0/ata_device/dev1.0/xfer_mode = XFER_UDMA_6");
    check("sys/fs/ext4/sda1/errors_count = 3", FileSystemErrors);
    check_none("sys/fs/ext4/sda1/errors_count = 0");
    check_none("sys/fs/ext4/sdb1/errors_count = 3");
    let nvme = "sys/devices/pci0000:00/0000:00:1c.4/0000:03:00.0/nvme/nvme0";
    let known = |model: &str, firmware: &str| {
        let change = format!("{nvme}/model = {model}\n{nvme}/firmware_rev = {firmware}");
        finding("nvme-x2", &change, "nvme0n1", FirmwareFault).map(|found| found.fix)
    };
    let fix = known("Samsung SSD 990 PRO 2TB", "0B2QJXD7").unwrap();
    assert!(fix.contains("version 1B2QJXD7"), "{fix}");
    assert!(fix.contains("cat /sys/block/nvme0n1/device/firmware_rev"), "{fix}");
    assert_eq!(known("Samsung SSD 990 PRO 2TB", "1B2QJXD7"), None);
    assert_eq!(known("Another disk", "0B2QJXD7"), None);
}

#[test]
fn mounts_and_swap() {
    check("proc/mounts = /dev/sda1 / ext4 rw,data=writeback 0 0", MountOptions);
    check("proc/mounts = /dev/sda1 /srv xfs rw,sync 0 0", MountOptions);
    check_none("proc/mounts = /dev/sda1 / ext4 rw,data=ordered 0 0");
    let ext4 = "sys/fs/ext4/sda1/errors_count = 0\nsys/fs/ext4/sda1/lifetime_write_kbytes = 1";
    let release = "proc/sys/kernel/osrelease = ";
    check(&format!("{ext4}\n{release}6.1.0"), MountOptions);
    check_none(&format!("{ext4}\n{release}4.19.0"));
    check_none(&format!("{ext4}\n{release}6.1.0\nsys/fs/ext4/sda1/journal_task = 312"));
    let swaps = "proc/swaps = Filename Type Size Used Priority\\n/dev/sda2 partition 8388604 ";
    check(&format!("B/sda2/partition = 2\n{swaps}500000 -2"), SwapOnDisk);
    check_none(&format!("B/sda2/partition = 2\n{swaps}0 -2"));
}

#[test]
fn discards_and_encryption() {
    let bridge = "sys/devices/pci0000:00/0000:00:14.0/usb2/2-2/2-2:1.0/host8/target8:0:0/8:0:0:0";
    let none = format!("{bridge}/block/sde/queue/discard_max_bytes = 0");
    let full = format!("{none}\nsys/class/scsi_disk/8:0:0:0/provisioning_mode = full");
    let found = finding("usb", &full, "sde", DiscardOff).unwrap();
    assert!(found.evidence.contains("provisioning_mode: full"), "{found:?}");
    assert!(found.fix.contains("/sys/class/scsi_disk/8:0:0:0/provisioning_mode"), "{found:?}");
    check_none("B/queue/discard_max_bytes = 0");
    let nvme = "sys/devices/pci0000:00/0000:00:1c.4/0000:03:00.0/nvme/nvme0/nvme0n1";
    let volume = format!(
        "{nvme}/queue/discard_max_bytes = 2199023255040\n\
         sys/block/dm-0 -> ../devices/virtual/block/dm-0\n\
         @ sys/devices/virtual/block/dm-0\n./size = 1000\n./queue/discard_max_bytes = 0\n\
         ./dm/name = home\n./dm/uuid = CRYPT-LUKS2-0123456789abcdef-home\n\
         ./slaves/nvme0n1p3/start = 8"
    );
    let found = Tree::named("nvme-x2").add(&volume).findings("dm-0");
    assert_eq!(found, [DiscardOff, CryptQueues]);
    let old = format!("{volume}\nproc/sys/kernel/osrelease = 5.4.0");
    assert_eq!(Tree::named("nvme-x2").add(&old).findings("dm-0"), [DiscardOff]);
}

#[test]
fn places_and_paths() {
    let function = "sys/devices/pci0000:00/0000:00:1c.4/0000:03:00.0";
    let nodes = "sys/devices/system/node/node0/cpulist = 0-7\n\
                 sys/devices/system/node/node1/cpulist = 8-15";
    let on = format!("{function}/numa_node = 1");
    let found = finding("nvme-x2", &format!("{on}\n{nodes}"), "nvme0n1", NumaNode).unwrap();
    assert!(found.fix.contains("--cpunodebind=1"), "{found:?}");
    assert_eq!(finding("nvme-x2", &on, "nvme0n1", NumaNode), None);
    let unknown = format!("{function}/numa_node = -1\n{nodes}");
    assert_eq!(finding("nvme-x2", &unknown, "nvme0n1", NumaNode), None);
    let general = finding("nvme-x2", "proc/cmdline = pcie_aspm=off", "nvme0n1", KernelForced);
    assert_eq!(general.map(|found| found.severity), Some(Severity::Info));
    let paths = "sys/block/dm-9 -> ../devices/virtual/block/dm-9\n\
                 @ sys/devices/virtual/block/dm-9\n./size = 1000\n./dm/name = mpatha\n\
                 ./dm/uuid = mpath-3600508b1\n./slaves/sda/size = 8";
    let found = |state: &str| {
        let tree = tree_with(&format!("D/state = {state}"));
        tree.add(paths).findings("dm-9")
    };
    assert_eq!(found("running"), []);
    assert_eq!(found("transport-offline"), [MemberFailed]);
}

#[test]
fn raid_modes() {
    // RST with a drive that is seen, with hidden NVMe drives, and a controller without any disk.
    let class = "sys/devices/pci0000:00/0000:00:1f.2/class = 0x010400";
    check(class, RaidMode);
    let line = "ahci 0000:00:1f.2: Found 1 remapped NVMe devices.";
    let tree = Tree::named("ich8-ahci");
    tree.add(&format!("dmesg = {line}"));
    let raid = tree.device("sda").findings.into_iter().find(|finding| finding.id == RaidMode);
    assert_eq!(raid.map(|finding| finding.severity), Some(Severity::Error));
    let empty = Tree::of(
        "sys/block/.keep =\n\
         sys/bus/pci/devices/0000:00:17.0 -> ../../../devices/pci0000:00/0000:00:17.0\n\
         sys/devices/pci0000:00/0000:00:17.0/class = 0x010400",
    );
    assert_eq!(empty.findings("0000:00:17.0"), [RaidMode]);
}

#[test]
fn usb_disks_at_the_speed_of_usb_2() {
    let tree = Tree::named("usb");
    let bridge = "sys/devices/pci0000:00/0000:00:14.0/usb2/2-2";
    tree.add(&format!("{bridge}/speed = 480\n{bridge}/version =  2.10"));
    assert_eq!(tree.findings("sde"), [LinkBelowCapability, WriteCacheVolatile]);
}

#[test]
fn strict_fails_on_misconfiguration_and_not_on_a_volatile_cache() {
    let check = |tree: &str, expected| {
        assert_eq!(Tree::named(tree).inspect().has_misconfiguration(), expected, "{tree}");
    };
    check("ich8-ahci", false);
    check("virtual", false);
    check("ich8-ide", true);
    check("stacked", true);
}
