//! The log's lines about SCSI disks, USB bridges and NVMe controllers.

use super::{KernelLog, Lines, entry};

/// One SCSI disk (`sda`), as the log shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskLog {
    /// `Write cache: enabled, read cache: enabled, doesn't support DPO or FUA`.
    pub write_cache: Option<String>,
    /// The kernel could not ask the drive, and assumed a write-through cache.
    pub assumed_write_through: Lines,
    /// Reads or writes that failed.
    pub errors: Lines,
}

/// A named unit on the path to a disk (`2-1`, `nvme0`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitLog {
    /// Resets, time-outs, aborted commands.
    pub errors: Lines,
    /// The kernel did not use UAS for this bridge.
    pub uas_ignored: Lines,
}

impl KernelLog {
    /// `sd 0:0:0:0: [sda] ...`.
    pub(super) fn disk_line(&mut self, message: &str) -> bool {
        let at = self.at_s;
        if let Some(name) = failed_disk(message) {
            let disk = entry(&mut self.disks, name.to_owned());
            return disk.map(|disk| disk.errors.add_at(message, at)).is_some();
        }
        if !message.starts_with("sd ") {
            return false;
        }
        let Some((_, rest)) = message.split_once('[') else { return false };
        let Some((name, rest)) = rest.split_once("] ") else { return false };
        if rest.starts_with("Attached SCSI ") {
            // Names are reused: earlier errors under this name belong to another attachment.
            if let Some(disk) = self.disks.get_mut(name) {
                disk.errors = Lines::default();
            }
            return true;
        }
        let assumed = rest.starts_with("Assuming drive cache: write through");
        if !assumed && !rest.starts_with("Write cache: ") {
            return false;
        }
        let Some(disk) = entry(&mut self.disks, name.to_owned()) else { return false };
        if assumed {
            disk.assumed_write_through.add(message);
        } else {
            // The drive answered after all, or again: the latest answer counts.
            disk.assumed_write_through = Lines::default();
            disk.write_cache = Some(rest.to_owned());
        }
        true
    }

    /// `usb 2-1: ...`, `nvme nvme0: ...`.
    pub(super) fn unit_line(&mut self, message: &str) -> bool {
        let Some((kind, rest)) = message.split_once(' ') else { return false };
        let Some((name, rest)) = rest.split_once(": ") else { return false };
        let at = self.at_s;
        if kind == "nvme" && rest.starts_with("pci function ") {
            // A controller that is found again starts without a history.
            self.units.remove(name);
            return true;
        }
        let ignored = kind == "usb" && rest.starts_with("UAS is ignored for this device");
        let errors: &[&str] = match kind {
            "usb" => &["reset ", "device descriptor read/"],
            "nvme" => &["I/O ", "controller is down", "Abort status", "Removing after probe"],
            _ => &[],
        };
        // A reset at the first enumeration is usual; only one of a running drive names its speed.
        let error = errors.iter().find(|text| rest.starts_with(**text));
        let failed = error.is_some_and(|text| match *text {
            "reset " => rest.contains("speed") || rest.contains("Speed"),
            "I/O " => rest.contains("timeout"),
            _ => true,
        });
        if !ignored && !failed {
            return false;
        }
        let Some(unit) = entry(&mut self.units, name.to_owned()) else { return false };
        if ignored {
            unit.uas_ignored.add(message);
        } else {
            unit.errors.add_at(message, at);
        }
        true
    }
}

/// The disk in `I/O error, dev sda, sector 2048 op 0x0:(READ)`, with the prefixes of old and new
/// kernels (`blk_update_request:`, `end_request:`).
fn failed_disk(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("I/O error, dev ")?;
    let name = rest.split([',', ' ']).next()?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_caches_of_disks() {
        let log = KernelLog::parse(
            "sd 0:0:0:0: [sda] Write cache: enabled, read cache: enabled, doesn't support DPO or \
             FUA\n\
             sd 6:0:0:0: [sdb] Assuming drive cache: write through\n",
        );
        assert!(
            log.disks["sda"].write_cache.as_deref().unwrap().starts_with("Write cache: enabled")
        );
        assert_eq!(log.disks["sdb"].assumed_write_through.count, 1);
    }

    #[test]
    fn a_name_that_is_given_again_starts_without_errors() {
        let failed = "[  10.5] I/O error, dev sdb, sector 2048 op 0x0:(READ)\n";
        let attached = "[  11.5] sd 6:0:0:0: [sdb] Attached SCSI disk\n";
        let count = |text: &str| KernelLog::parse(text).disks["sdb"].errors.count;
        assert_eq!(count(&format!("{attached}{failed}{failed}")), 2);
        assert_eq!(count(&format!("{failed}{attached}")), 0);
        let timeout = "nvme nvme0: I/O 12 QID 3 timeout, aborting\n";
        let found = "nvme nvme0: pci function 0000:03:00.0\n";
        assert_eq!(KernelLog::parse(&format!("{found}{timeout}")).units["nvme0"].errors.count, 1);
        assert!(KernelLog::parse(&format!("{timeout}{found}")).units.is_empty());
    }

    #[test]
    fn failures_are_counted_for_the_one_that_failed() {
        let log = KernelLog::parse(
            "blk_update_request: I/O error, dev sdc, sector 1234 op 0x0:(READ) flags 0x0\n\
             usb 2-1: reset SuperSpeed USB device number 3 using xhci_hcd\n\
             nvme nvme0: I/O 12 QID 3 timeout, aborting\n\
             usb 2-2: UAS is ignored for this device, using usb-storage instead\n\
             usb 2-3: New USB device found\n",
        );
        assert_eq!(log.disks["sdc"].errors.count, 1);
        assert_eq!(log.units["2-1"].errors.count, 1);
        assert_eq!(log.units["nvme0"].errors.count, 1);
        assert_eq!(log.units["2-2"].uas_ignored.count, 1);
        assert!(!log.units.contains_key("2-3"));
    }
}
