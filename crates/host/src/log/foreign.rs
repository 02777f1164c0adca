//! Logs and listings of other systems than Linux, which are not read.

/// A description of what a text is, and the parts of lines that show it.
const SYSTEMS: &[(&str, &[&str])] = &[
    (
        "a log of FreeBSD's kernel",
        &["): CAM status: ", "FreeBSD is a registered trademark", ": Timeout on slot ", " scbus"],
    ),
    ("a log of OpenBSD's kernel", &[" at scsibus", "OpenBSD is a trademark", "(OpenBSD) "]),
    ("a log of NetBSD's kernel", &[" at atabus", "The NetBSD Foundation"]),
    (
        "a log of illumos or Solaris",
        &["scsi: [ID ", "WARNING: /pci@", "SunOS Release ", "genunix: [ID "],
    ),
    (
        "a log of VMware's hypervisor",
        &["ScsiDeviceIO: ", "nmp_ThrottleLogForDevice", "NMP: nmp_", "VMW_SATP_"],
    ),
    (
        "the list of disks of macOS",
        &["/dev/disk0 (internal", "/dev/disk0 (synthesized", "Device Identifier:         disk"],
    ),
    (
        "a log or a list of disks of Windows",
        &[
            "\\Device\\Harddisk",
            "\\\\.\\PHYSICALDRIVE",
            "Log Name:      System",
            "Provider[@Name='disk']",
            "<Provider Name='disk'",
        ],
    ),
];

/// Returns what a text is if it is of another system than Linux.
pub fn foreign(text: &str) -> Option<&'static str> {
    if text.contains("Linux version ") {
        return None;
    }
    let found = SYSTEMS.iter().find(|(_, parts)| parts.iter().any(|part| text.contains(part)));
    found.map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_systems_have_names() {
        let check = |text: &str, expected: &str| {
            let found = foreign(text).unwrap_or("none");
            assert!(found.contains(expected), "{text}: {found}");
        };
        check("(ada0:ahcich0:0:0:0): CAM status: Command timeout", "FreeBSD");
        check("da0 at mps0 bus 0 scbus0 target 8 lun 0", "FreeBSD");
        check("sd0 at scsibus1 targ 0 lun 0: <ATA, SAMSUNG, 1> SCSI3", "OpenBSD");
        check("wd0 at atabus0 drive 0", "NetBSD");
        check("May 1 01:02:03 h scsi: [ID 107833 kern.warning] WARNING: /pci@0,0", "illumos");
        check("cpu3:2097)ScsiDeviceIO: 2338: Cmd(0x1) 0x2a, CmdSN 0x8", "VMware");
        check("/dev/disk0 (internal, physical):", "macOS");
        check("The device, \\Device\\Harddisk0\\DR0, has a bad block.", "Windows");
        check("Linux version 6.1\nsr0: scsi3-mmc drive: 8x/24x writer", "none");
        check("ata1.00: error: { UNC }", "none");
    }
}
