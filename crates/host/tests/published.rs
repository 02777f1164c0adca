//! The lines that the published articles show, and nothing else, give the right findings.

use drivelab_host::FindingId::{self, *};
use drivelab_host::{Device, KernelLog, Options, Root, inspect};

/// What is said of a machine of which only the log is known.
fn devices(log: &str) -> Vec<Device> {
    let empty = tempfile::tempdir().unwrap();
    let options = Options { log: Some(KernelLog::parse(log)), ..Options::default() };
    inspect(&Root::new(empty.path()), &[], &options).unwrap().devices
}

fn check(log: &str, expected: &[(&str, &[FindingId])]) {
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
    check(ide, &[("0000:00:1f.2", &[IdeEmulation])]);
    check(
        &format!("{ide}\n\tKernel driver in use: ata_piix"),
        &[("0000:00:1f.2", &[IdeEmulation])],
    );
    let ahci = "00:1f.2 SATA controller [0106]: Intel Corporation 82801HB (ICH8) 4 port SATA AHCI \
                Controller [8086:2824] (rev 02) (prog-if 01 [AHCI 1.0])\n\
                \tKernel driver in use: ahci";
    check(ahci, &[("0000:00:1f.2", &[])]);
    let controller = &devices(ide)[0].controller;
    assert_eq!(controller.pci_class.as_deref(), Some("0x0101"));
    assert_eq!(controller.prog_if.as_deref(), Some("0x8a"));
}

#[test]
fn the_bios_mode_of_a_server() {
    let before = "[    2.100000] ata2.00: limiting SATA link speed to 1.5 Gbps\n\
                  [    2.200000] ata2.01: limiting SATA link speed to 1.5 Gbps\n";
    let both: &[FindingId] = &[IdeEmulation, LinkBelowCapability, LinkDownshift];
    check(before, &[("ata2.00", both), ("ata2.01", both)]);
    check("ata1: SATA link up 3.0 Gbps (SStatus 123 SControl 300)", &[("ata1.00", &[])]);
    check("", &[]);
}

#[test]
fn a_boot_with_the_ide_driver() {
    let log = "ata_piix 0000:00:1f.2: MAP [ P0 P2 P1 P3 ]\n\
               ata1: SATA max UDMA/133 cmd 0x1f0 ctl 0x3f6 bmdma 0x30b0 irq 14\n\
               ata1.00: ATA-8: ST31000333AS, SD15, max UDMA/133\n\
               ata1.00: 1953525168 sectors, multi 16: LBA48 NCQ (depth 0/32)\n";
    check(log, &[("ata1.00", &[IdeEmulation, NcqOff])]);
    let disk = &devices(log)[0];
    assert_eq!(
        (disk.model.as_deref(), disk.capacity_bytes),
        (Some("ST31000333AS"), Some(1_000_204_886_016))
    );
    assert_eq!(disk.controller.driver.as_deref(), Some("ata_piix"));
}
