//! What is wrong with a device, as data; the rules that find it stand in `finding`.

use std::fmt;

use drivelab_core::outline::Severity;
use serde::{Deserialize, Serialize};

/// Something that is wrong, or that one should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Which, as the contract names it.
    pub id: FindingId,
    /// How bad it is.
    pub severity: Severity,
    /// What it is, in a sentence.
    pub message: String,
    /// Where that was read, and what stood there.
    pub evidence: String,
    /// What to do about it.
    pub fix: String,
}

impl Finding {
    /// Whether `--strict` fails on it: errors and warnings do, except that a volatile write cache
    /// is how every desktop drive is sold, and no fault while flushes reach it.
    pub fn is_misconfiguration(&self) -> bool {
        self.severity != Severity::Info && self.id != FindingId::WriteCacheVolatile
    }
}

/// Declares the ids, each with the name that scripts know.
macro_rules! ids {
    ($($(#[$doc:meta])+ $id:ident = $name:literal,)+) => {
        /// Which finding, the most important first: the order in which they are shown.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum FindingId { $($(#[$doc])+ #[serde(rename = $name)] $id,)+ }

        impl FindingId {
            /// All there are.
            pub const ALL: &[Self] = &[$(Self::$id,)+];
        }

        impl fmt::Display for FindingId {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$id => $name,)+ })
            }
        }
    };
}

ids! {
    /// A SATA drive is driven as an IDE one.
    IdeEmulation = "ide-emulation",
    /// Native command queuing is off on a drive that has it.
    NcqOff = "ncq-off",
    /// The link is slower than both its ends can.
    LinkBelowCapability = "link-below-capability",
    /// The kernel slowed the link down after errors.
    LinkDownshift = "link-downshift",
    /// Errors on the way to the drive.
    LinkErrors = "link-errors",
    /// A RAID mode stands between the kernel and the drives.
    RaidMode = "raid-mode",
    /// The PCIe link is narrower or slower than the controller's own.
    PcieDowngraded = "pcie-downgraded",
    /// A partition starts in the middle of a physical sector.
    Misaligned = "misaligned",
    /// The USB bridge is driven without queues.
    UsbStorage = "usb-storage",
    /// The kernel and the drive disagree about the write cache.
    WriteCacheViewDiffers = "write-cache-view-differs",
    /// Writes are acknowledged before they are safe, and nothing is known to protect them.
    WriteCacheVolatile = "write-cache-volatile",
    /// The drive's write cache is off.
    WriteCacheOff = "write-cache-off",
    /// The scheduler does not suit the drive.
    SchedulerUnfit = "scheduler-unfit",
    /// The page cache reads far ahead, or not at all.
    ReadaheadExtreme = "readahead-extreme",
    /// Fewer commands reach the drive than it takes.
    QueueShallow = "queue-shallow",
    /// A software RAID array lacks disks.
    MdDegraded = "md-degraded",
    /// A software RAID array is copying.
    MdResyncing = "md-resyncing",
    /// A file system leaves out flushes.
    Nobarrier = "nobarrier",
    /// Options of the kernel change how the disk is driven.
    KernelForced = "kernel-forced",
    /// Others use the disk right now.
    DeviceBusy = "device-busy",
}
