//! Small kernel logs, against the findings that stand beside them, and the lines of published
//! articles.

use drivelab_host::FindingId::{self, *};
use drivelab_host::{
    Device, InspectError, Inspection, KernelLog, Options, Reader, Root, Severity, Wanted, inspect,
    outline, record_within,
};

use crate::tree::{Tree, text};

const LOGS: &str = include_str!("tables/logs.txt");

/// The answer about a machine of which only the log is known.
fn devices(log: &str) -> Vec<Device> {
    let empty = tempfile::tempdir().unwrap();
    let options = Options { log: Some(KernelLog::parse(log)), ..Options::default() };
    inspect(&Root::new(empty.path()), &[], &options).unwrap().devices
}

fn findings(log: &str) -> String {
    let devices = devices(log);
    let all = devices.iter().flat_map(|device| {
        device.findings.iter().map(|finding| {
            let severity = match finding.severity {
                Severity::Error => "error",
                Severity::Warn => "warn",
                Severity::Info => "info",
            };
            format!("{}:{severity}:{}", device.name, finding.id)
        })
    });
    let all: Vec<String> = all.collect();
    if all.is_empty() { "-".to_owned() } else { all.join(" ") }
}

/// The log with this heading.
fn log(heading: &str) -> &'static str {
    let found = LOGS.split("\n== ").find(|section| section.starts_with(heading));
    found.and_then(|section| section.splitn(3, '\n').nth(2)).unwrap()
}

/// The remedies of the findings with this id.
fn remedies(log: &str, id: FindingId) -> String {
    let devices = devices(log);
    let all = devices.iter().flat_map(|device| &device.findings);
    let texts: Vec<&str> =
        all.filter(|finding| finding.id == id).map(|finding| finding.fix.as_str()).collect();
    assert!(!texts.is_empty(), "no {id}");
    texts.join("\n")
}

#[test]
fn small_logs_have_the_findings_that_stand_beside_them() {
    let mut wrong = Vec::new();
    for section in LOGS.split("\n== ").skip(1) {
        let mut parts = section.splitn(3, '\n');
        let (heading, expected) = (parts.next().unwrap(), parts.next().unwrap());
        let found = findings(parts.next().unwrap());
        if expected.strip_prefix("= ") != Some(&found) {
            wrong.push(format!("{heading}:\n  expected {expected}\n  found    = {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_resume_without_time_stamps_excuses_only_what_follows_soon() {
    let reset = "usb 2-3: reset SuperSpeed USB device number 2 using xhci_hcd\n";
    let others = "systemd[1]: text of no interest\n".repeat(200);
    assert!(KernelLog::parse(&format!("PM: suspend exit\n{reset}")).faults.is_empty());
    let late = KernelLog::parse(&format!("PM: suspend exit\n{others}{reset}"));
    assert_eq!(late.faults.len(), 1);
}

#[test]
fn remedies_fit_the_failed_command() {
    let check = |operations: &[&str], present: &[&str], absent: &[&str]| {
        let lines = operations.iter().map(|operation| {
            format!("critical target error, dev sda, sector 8 op 0x3:({operation}) flags 0x800\n")
        });
        let text = remedies(&lines.collect::<String>(), FindingId::CommandErrors);
        assert!(present.iter().all(|part| text.contains(part)), "{text}");
        assert!(!absent.iter().any(|part| text.contains(part)), "{text}");
    };
    let (discard, zeroes) = ("fstrim", "write_zeroes_max_bytes");
    check(&["DISCARD"], &[discard], &[zeroes, "find which command"]);
    check(&["WRITE_ZEROES"], &[zeroes], &[discard, "find which command"]);
    // The fourth line is not kept as evidence, but counts.
    check(&["DISCARD", "DISCARD", "DISCARD", "WRITE"], &[discard, "find which command"], &[zeroes]);
}

#[test]
fn remedies_fit_the_way_to_the_disk() {
    let check = |text: &str, present: &str, absent: &str| {
        assert!(text.contains(present) && !text.contains(absent), "{text}");
    };
    let mode = remedies(log("a lowered mode of a SATA"), FindingId::TransferMode);
    check(&mode, "SATA", "80-wire");
    let parallel = "ata1: PATA max UDMA/100 cmd 0x1f0 ctl 0x3f6 bmdma 0xf100 irq 14\n\
                    ata1.00: ATA-7: ST3250620A, 3.AAE, max UDMA/100\n\
                    ata1.00: limited to UDMA/33 due to 40-wire cable\n";
    check(&remedies(parallel, FindingId::TransferMode), "80-wire", "SATA");
    let io = |disk: &str| {
        let line = format!("I/O error, dev {disk}, sector 8 op 0x0:(READ) flags 0x0");
        remedies(&line, FindingId::IoErrors)
    };
    check(&io("md0"), "lsblk -s /dev/md0", "smartctl -x /dev/md0");
    check(&io("dm-3"), "lsblk -s /dev/dm-3", "pending");
    check(&io("vda"), "host's administrator", "smartctl");
    check(&io("sda"), "smartctl -x /dev/sda", "grown defect list");
    let iscsi = "scsi host3: iSCSI Initiator over TCP/IP\n\
                 sd 3:0:0:1: [sdb] 20971520 512-byte logical blocks: (10.7 GB/10.0 GiB)\n\
                 sd 3:0:0:1: [sdb] tag#3 FAILED Result: hostbyte=DID_TRANSPORT_DISRUPTED\n";
    check(&remedies(iscsi, FindingId::LinkErrors), "iscsiadm", "sas_phy");
    let old = remedies(log("an NVMe drive of Linux 3.16"), FindingId::CommandTimeouts);
    check(&old, "nvme_core", "link_power_management_policy");
    let known = remedies(log("one drive has a name of libata"), FindingId::MediumErrors);
    check(&known, "smartctl -x /dev/sda", "/dev/NAME");
    let unknown = remedies("ata2.00: error: { UNC }", FindingId::MediumErrors);
    check(&unknown, "grep ata2/", "/dev/DISK");
}

#[test]
fn a_file_system_is_checked_in_its_own_way() {
    let btrfs = remedies(log("a file system on several"), FindingId::FileSystemErrors);
    assert!(btrfs.contains("scrub") && btrfs.contains("on the mounted"), "{btrfs}");
    assert!(!btrfs.contains("unmounted") && !btrfs.contains("e2fsck"), "{btrfs}");
    let ext4 = "EXT4-fs error (device sda1): ext4_find_entry:1455: inode #2: comm ls: reading";
    let ext4 = remedies(ext4, FindingId::FileSystemErrors);
    assert!(ext4.contains("e2fsck -f") && !ext4.contains("scrub"), "{ext4}");
}

#[test]
fn collapsed_blanks_do_not_shift_maker_and_model() {
    let log = KernelLog::parse(
        "scsi 6:0:0:0: Direct-Access Samsung PSSD T7 0 PQ: 0 ANSI: 6\n\
         scsi 1:0:0:0: CD-ROM HL-DT-ST DVDRAM GH24NSB0 LN01 PQ: 0 ANSI: 5\n\
         scsi 0:0:0:0: Direct-Access     ATA      WDC WD10EZEX-00B 1A01 PQ: 0 ANSI: 5\n",
    );
    let unit = |address: &str| {
        let unit = &log.scsi[address];
        (unit.vendor.as_str(), unit.model.as_str(), unit.is_disk)
    };
    assert_eq!(unit("6:0:0:0"), ("Samsung", "PSSD T7", true));
    assert_eq!(unit("1:0:0:0"), ("HL-DT-ST", "DVDRAM GH24NSB0", false));
    assert_eq!(unit("0:0:0:0"), ("ATA", "WDC WD10EZEX-00B", true));
}

#[test]
fn a_log_of_names_only_needs_bounded_memory() {
    let units = (0..4000).map(|port| {
        let lines = (0..64).map(|unit| {
            format!("ata{port}.{unit:02}: ATA-9: MODEL, 1, max UDMA/133\nata{port}.{unit:02}: error: {{ UNC }}\n")
        });
        lines.collect::<String>()
    });
    let disks = (0..20_000).map(|disk| format!("I/O error, dev nvme{disk}n1, sector 8\n"));
    let text: String = units.chain(disks).collect();
    let found = devices(&text);
    assert!(found.len() <= 4096, "{} devices", found.len());
    let long = format!("sd 0:0:0:0: [sda] Sense Key : Medium Error {}\n", "x".repeat(4000));
    let kept = KernelLog::parse(&long.repeat(10_000));
    let bytes: usize = kept.understood.iter().map(String::len).sum();
    assert!(bytes <= 8 << 20, "{bytes}");
    assert!(kept.faults["sda"].by_class.values().all(|lines| lines.evidence().len() < 2000));
}

fn check_ids(log: &str, expected: &[(&str, &[FindingId])]) {
    let found: Vec<(String, Vec<FindingId>)> = devices(log)
        .into_iter()
        .map(|device| (device.name, device.findings.iter().map(|finding| finding.id).collect()))
        .collect();
    let expected: Vec<(String, Vec<FindingId>)> =
        expected.iter().map(|(name, ids)| ((*name).to_owned(), ids.to_vec())).collect();
    assert_eq!(found, expected, "{log}");
}

#[test]
fn piix_versus_ahci() {
    let ide = "00:1f.2 IDE interface [0101]: Intel Corporation 82801H (ICH8 Family) 4 port SATA \
               IDE Controller [8086:2820] (rev 02) (prog-if 8a [Master SecP PriP])";
    check_ids(ide, &[("0000:00:1f.2", &[IdeEmulation])]);
    check_ids(
        &format!("{ide}\n\tKernel driver in use: ata_piix"),
        &[("0000:00:1f.2", &[IdeEmulation])],
    );
    let ahci = "00:1f.2 SATA controller [0106]: Intel Corporation 82801HB (ICH8) 4 port SATA AHCI \
                Controller [8086:2824] (rev 02) (prog-if 01 [AHCI 1.0])\n\
                \tKernel driver in use: ahci";
    check_ids(ahci, &[("0000:00:1f.2", &[])]);
    let controller = &devices(ide)[0].controller;
    assert_eq!(controller.pci_class.as_deref(), Some("0x0101"));
    assert_eq!(controller.prog_if.as_deref(), Some("0x8a"));
}

#[test]
fn the_bios_mode_of_a_server() {
    let before = "[    2.100000] ata2.00: limiting SATA link speed to 1.5 Gbps\n\
                  [    2.200000] ata2.01: limiting SATA link speed to 1.5 Gbps\n";
    let both: &[FindingId] = &[IdeEmulation, LinkBelowCapability, LinkDownshift];
    check_ids(before, &[("ata2.00", both), ("ata2.01", both)]);
    check_ids("ata1: SATA link up 3.0 Gbps (SStatus 123 SControl 300)", &[("ata1.00", &[])]);
    check_ids("", &[]);
}

#[test]
fn a_boot_with_the_ide_driver() {
    let log = "ata_piix 0000:00:1f.2: MAP [ P0 P2 P1 P3 ]\n\
               ata1: SATA max UDMA/133 cmd 0x1f0 ctl 0x3f6 bmdma 0x30b0 irq 14\n\
               ata1.00: ATA-8: ST31000333AS, SD15, max UDMA/133\n\
               ata1.00: 1953525168 sectors, multi 16: LBA48 NCQ (depth 0/32)\n";
    check_ids(log, &[("ata1.00", &[IdeEmulation, NcqOff])]);
    let disk = &devices(log)[0];
    assert_eq!(
        (disk.model.as_deref(), disk.capacity_bytes),
        (Some("ST31000333AS"), Some(1_000_204_886_016))
    );
    assert_eq!(disk.controller.driver.as_deref(), Some("ata_piix"));
}

/// The tree of a virtual machine, with what shows whose log it is.
fn inspected(tree: &str, wanted: &str, log: &str) -> Result<Inspection, InspectError> {
    let tree = Tree::of(&format!("+ virtual\n{tree}"));
    let log = Some(KernelLog::parse(log));
    let options = Options { log, log_of_any_machine: true, ..Options::default() };
    let wanted: Vec<Wanted> = wanted.split_whitespace().map(|it| Wanted::Name(it.into())).collect();
    inspect(&Root::new(tree.folder.path()), &wanted, &options)
}

const RELEASE: &str = "proc/sys/kernel/osrelease = 6.1.0-18-amd64";
const FAULT: &str = "Linux version 6.1.0-18-amd64\nI/O error, dev sdz, sector 8 op 0x0:(READ)\n";

#[test]
fn the_same_kernel_does_not_make_it_the_same_machine() {
    let found = inspected(RELEASE, "", FAULT).unwrap();
    assert!(found.environment.foreign_log.is_some(), "{:?}", found.environment);
    let names: Vec<&str> = found.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["sdz"]);
    let started = "BOOT_IMAGE=/vmlinuz root=UUID=11111111-2222-3333-4444-555555555555 ro";
    let tree = format!("{RELEASE}\nproc/cmdline = {started}");
    let log = format!("{FAULT}Command line: {started}\n");
    assert_eq!(inspected(&tree, "", &log).unwrap().environment.foreign_log, None);
    // Machines of one image have the same line, if it names no file system.
    let tree = format!("{RELEASE}\nproc/cmdline = console=ttyS0");
    let log = format!("{FAULT}Command line: console=ttyS0\n");
    assert!(inspected(&tree, "", &log).unwrap().environment.foreign_log.is_some());
}

#[test]
fn disks_that_are_named_are_sought_in_the_log_of_another_machine() {
    let found = inspected("", "sdz1", FAULT).unwrap();
    assert_eq!(found.devices.len(), 1);
    let other = inspected("", "vda", FAULT).unwrap_err();
    assert!(other.to_string().contains("names no disk `vda`"), "{other}");
}

#[test]
fn a_log_of_another_machine_is_not_captured() {
    let tree = Tree::named("virtual");
    let log = Some(KernelLog::parse(FAULT));
    let options = Options { log, log_of_any_machine: true, ..Options::default() };
    let refused = record_within(Reader::new(tree.folder.path()), &options).unwrap_err();
    assert!(refused.to_string().contains("capture"), "{refused}");
}

#[test]
fn a_clean_log_says_what_was_looked_at() {
    let log = "[ 1.0] sd 0:0:0:0: [sda] Attached SCSI disk\n[ 2.0] text\n";
    let found = inspected("", "", log).unwrap();
    let said = text(&outline(&found));
    assert!(said.contains("among the 2 lines of the log that were read"), "{said}");
    assert!(!said.contains("no problem"), "{said}");
}
