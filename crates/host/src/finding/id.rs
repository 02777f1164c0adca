//! The names of findings: a contract with scripts.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which finding. The order is the order in which they are told: what matters most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingId {
    /// A SATA drive is driven as an IDE one.
    IdeEmulation,
    /// Native command queuing is off on a drive that has it.
    NcqOff,
    /// The link is slower than both its ends can.
    LinkBelowCapability,
    /// The kernel slowed the link down after errors.
    LinkDownshift,
    /// Errors on the way to the drive.
    LinkErrors,
    /// A RAID mode stands between the kernel and the drives.
    RaidMode,
    /// The PCIe link is narrower or slower than the controller's own.
    PcieDowngraded,
    /// A partition starts in the middle of a physical sector.
    Misaligned,
    /// The USB bridge is driven without queues.
    UsbStorage,
    /// The kernel and the drive disagree about the write cache.
    WriteCacheViewDiffers,
    /// Writes are acknowledged before they are safe, and nothing is known to protect them.
    WriteCacheVolatile,
    /// The drive's write cache is off.
    WriteCacheOff,
    /// The scheduler does not suit the drive.
    SchedulerUnfit,
    /// The page cache reads far ahead, or not at all.
    ReadaheadExtreme,
    /// Fewer commands reach the drive than it takes.
    QueueShallow,
    /// A software RAID array lacks disks.
    MdDegraded,
    /// A software RAID array is copying.
    MdResyncing,
    /// A file system leaves out flushes.
    Nobarrier,
    /// Options of the kernel change how the disk is driven.
    KernelForced,
    /// Others use the disk right now.
    DeviceBusy,
}

impl FindingId {
    /// All there are.
    pub const ALL: [Self; 20] = [
        Self::IdeEmulation,
        Self::NcqOff,
        Self::LinkBelowCapability,
        Self::LinkDownshift,
        Self::LinkErrors,
        Self::RaidMode,
        Self::PcieDowngraded,
        Self::Misaligned,
        Self::UsbStorage,
        Self::WriteCacheViewDiffers,
        Self::WriteCacheVolatile,
        Self::WriteCacheOff,
        Self::SchedulerUnfit,
        Self::ReadaheadExtreme,
        Self::QueueShallow,
        Self::MdDegraded,
        Self::MdResyncing,
        Self::Nobarrier,
        Self::KernelForced,
        Self::DeviceBusy,
    ];

    /// Its name: `ide-emulation`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::IdeEmulation => "ide-emulation",
            Self::NcqOff => "ncq-off",
            Self::LinkBelowCapability => "link-below-capability",
            Self::LinkDownshift => "link-downshift",
            Self::LinkErrors => "link-errors",
            Self::RaidMode => "raid-mode",
            Self::PcieDowngraded => "pcie-downgraded",
            Self::Misaligned => "misaligned",
            Self::UsbStorage => "usb-storage",
            Self::WriteCacheViewDiffers => "write-cache-view-differs",
            Self::WriteCacheVolatile => "write-cache-volatile",
            Self::WriteCacheOff => "write-cache-off",
            Self::SchedulerUnfit => "scheduler-unfit",
            Self::ReadaheadExtreme => "readahead-extreme",
            Self::QueueShallow => "queue-shallow",
            Self::MdDegraded => "md-degraded",
            Self::MdResyncing => "md-resyncing",
            Self::Nobarrier => "nobarrier",
            Self::KernelForced => "kernel-forced",
            Self::DeviceBusy => "device-busy",
        }
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_json_are_the_names_in_text() {
        for id in FindingId::ALL {
            assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{id}\""));
        }
    }
}
