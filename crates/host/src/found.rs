//! Findings as data; their rules are in `finding`.

use std::fmt;

use drivelab_core::outline::Severity;
use serde::{Deserialize, Serialize};

/// A fault of a device or its settings, or a fact worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its id.
    pub id: FindingId,
    /// Its severity.
    pub severity: Severity,
    /// Its description, in a sentence.
    pub message: String,
    /// The sources, and the text found there.
    pub evidence: String,
    /// The remedy.
    pub fix: String,
}

impl Finding {
    /// Returns whether `--strict` fails on it: on errors, and on warnings that are no
    /// advice (`ADVICE`).
    pub fn is_misconfiguration(&self) -> bool {
        match self.severity {
            Severity::Error => true,
            Severity::Warn => !ADVICE.contains(&self.id),
            Severity::Info => false,
        }
    }
}

/// Findings whose warnings are true of healthy machines as well: the state in which drives are
/// sold, choices of a distribution or an administrator, and limits of a board.
const ADVICE: [FindingId; 8] = [
    FindingId::LinkBelowCapability,
    FindingId::PcieDowngraded,
    FindingId::QueueShallow,
    FindingId::ReadaheadExtreme,
    FindingId::SchedulerUnfit,
    FindingId::UsbStorage,
    FindingId::WriteCacheOff,
    FindingId::WriteCacheVolatile,
];

/// Declares the ids, each with the name that scripts know.
macro_rules! ids {
    ($($(#[$doc:meta])+ $id:ident = $name:literal,)+) => {
        /// The findings, the most important first: the order in which they are shown.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum FindingId { $($(#[$doc])+ #[serde(rename = $name)] $id,)+ }

        impl FindingId {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$id,)+];

            /// The id of this name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$id),)+ _ => None }
            }
        }

        impl fmt::Display for FindingId {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$id => $name,)+ })
            }
        }
    };
}

impl FindingId {
    /// Returns whether it changes what a benchmark measures at any severity: by errors that
    /// are repeated, by another load, or because something other than the drive answers.
    pub fn changes_measurements(self) -> bool {
        matches!(
            self,
            Self::NcqOff
                | Self::LinkDownshift
                | Self::MediumErrors
                | Self::LinkErrors
                | Self::CommandTimeouts
                | Self::IoErrors
                | Self::ControllerErrors
                | Self::PcieErrors
                | Self::PowerSaving
                | Self::TransferMode
                | Self::TooHot
                | Self::ShingledRecording
                | Self::RemoteDisk
                | Self::MdDegraded
                | Self::MdResyncing
                | Self::SwapOnDisk
        )
    }
}

ids! {
    /// A SATA drive is driven as an IDE one.
    IdeEmulation = "ide-emulation",
    /// Native command queuing is off on a drive that supports it.
    NcqOff = "ncq-off",
    /// The link is slower than both its ends support.
    LinkBelowCapability = "link-below-capability",
    /// The kernel slowed the link down after errors.
    LinkDownshift = "link-downshift",
    /// The disk, or its controller, no longer answers.
    DeviceLost = "device-lost",
    /// Data could not be read from the medium, or written to it.
    MediumErrors = "medium-errors",
    /// The drive's own record reports that it fails.
    HealthFailed = "health-failed",
    /// Errors on the link to the drive.
    LinkErrors = "link-errors",
    /// Commands were not answered in time.
    CommandTimeouts = "command-timeouts",
    /// Requests failed for a reason that the log does not name.
    IoErrors = "io-errors",
    /// The drive rejected or aborted commands.
    CommandErrors = "command-errors",
    /// The controller failed, or was reset.
    ControllerErrors = "controller-errors",
    /// A member left its array, or a path its multipath disk.
    MemberFailed = "member-failed",
    /// A file system found damage, or stopped writing.
    FileSystemErrors = "file-system-errors",
    /// Transfers on the PCIe link failed or were repeated.
    PcieErrors = "pcie-errors",
    /// Power saving disturbs the drive, or may do so.
    PowerSaving = "power-saving",
    /// A parallel drive transfers data in a slow mode.
    TransferMode = "transfer-mode",
    /// The drive is too hot, or has slowed down because of heat.
    TooHot = "too-hot",
    /// The flash is worn.
    WornOut = "worn-out",
    /// The drive has a firmware whose faults its maker has published.
    FirmwareFault = "firmware-fault",
    /// The disk is a volume of a cloud, or on another machine.
    RemoteDisk = "remote-disk",
    /// The drive records in overlapping tracks.
    ShingledRecording = "shingled-recording",
    /// A RAID mode stands between the kernel and the drives.
    RaidMode = "raid-mode",
    /// The PCIe link is narrower or slower than the controller supports.
    PcieDowngraded = "pcie-downgraded",
    /// A partition starts in the middle of a physical sector.
    Misaligned = "misaligned",
    /// The USB bridge is driven without queues.
    UsbStorage = "usb-storage",
    /// The kernel and the drive disagree about the write cache.
    WriteCacheViewDiffers = "write-cache-view-differs",
    /// Writes are acknowledged before they are safe, without known protection.
    WriteCacheVolatile = "write-cache-volatile",
    /// The drive's write cache is off.
    WriteCacheOff = "write-cache-off",
    /// The scheduler does not suit the drive.
    SchedulerUnfit = "scheduler-unfit",
    /// The page cache reads far ahead, or not at all.
    ReadaheadExtreme = "readahead-extreme",
    /// Fewer commands reach the drive than it supports.
    QueueShallow = "queue-shallow",
    /// A software RAID array lacks disks.
    MdDegraded = "md-degraded",
    /// A software RAID array is copying.
    MdResyncing = "md-resyncing",
    /// The copies or the parity of a software RAID array do not fit.
    MdMismatch = "md-mismatch",
    /// The kernel may give up before the drive does.
    TimeLimit = "time-limit",
    /// A file system sends no flushes.
    Nobarrier = "nobarrier",
    /// A file system is mounted so that it loses data or speed.
    MountOptions = "mount-options",
    /// Discards do not reach the drive.
    DiscardOff = "discard-off",
    /// Each request to an encrypted disk passes through queues of the kernel.
    CryptQueues = "crypt-queues",
    /// The machine swaps to the disk.
    SwapOnDisk = "swap-on-disk",
    /// The drive is attached to one of several processors.
    NumaNode = "numa-node",
    /// Options of the kernel change how the disk is driven.
    KernelForced = "kernel-forced",
    /// Another program is using the disk.
    DeviceBusy = "device-busy",
    /// The kernel does not count the disk's requests.
    IostatsOff = "iostats-off",
}
