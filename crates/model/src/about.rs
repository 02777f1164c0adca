//! Descriptions of modelled drives, for reports.

use drivelab_core::Ratio;
use drivelab_core::dispatch::Dispatch;

use crate::controller::{Controller, Link, Notice, QueuePairs};
use crate::elevator::Scheduler;
use crate::options::Switch;
use crate::raid::Level;
use crate::ssd::{Precondition, Scale};
use crate::tier::TierKind;

/// Model, size, attachment and arrangement of a drive.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct About {
    /// The maker's model name.
    pub model: String,
    /// Addressable bytes.
    pub capacity_bytes: u64,
    /// The attachment; `None` for a drive of fixed service time.
    pub attached: Option<Attachment>,
    /// The array or concatenation of several such drives; `None` for a single one.
    pub arrangement: Option<Arrangement>,
    /// The fast drive in front of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<Box<ModelledTier>>,
    /// The write cache of a RAID controller in front of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_cache: Option<ControllerCache>,
}

/// A write cache in a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ControllerCache {
    /// Its size.
    pub bytes: u64,
    /// False without a working battery: the controller then writes through.
    pub protected: bool,
}

/// A fast drive before a slow one.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ModelledTier {
    /// Its policy.
    pub kind: TierKind,
    /// Memory in front of it; `None` without a page cache.
    pub page_cache_bytes: Option<u64>,
    /// True if it started out holding the beginning of the slow drive.
    pub warm: bool,
    /// The fast drive.
    pub drive: About,
}

impl About {
    /// Returns true if a power cut can lose acknowledged writes.
    pub fn has_volatile_cache(&self) -> bool {
        let cached = self.attached.as_ref().is_some_and(|it| it.write_cache_bytes.is_some());
        cached || self.writes_back()
    }

    /// Returns true if the host has to flush: by what the drive reports, which may be more than it
    /// can lose.
    pub fn reports_volatile_cache(&self) -> bool {
        let reported = self.attached.as_ref().is_some_and(|it| it.reports_cache);
        reported || self.writes_back()
    }

    /// A writeback tier acknowledges before the slow drive has the data.
    fn writes_back(&self) -> bool {
        self.tier.as_ref().is_some_and(|tier| tier.kind == TierKind::Writeback)
    }
}

/// Attachment and settings of a drive, as negotiated from profile and options.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Attachment {
    /// The controller.
    pub controller: Controller,
    /// The allocation of tags.
    pub dispatch: Dispatch,
    /// Commands that may be on the wire at once, of each queue.
    pub tags: usize,
    /// Native (or SCSI) command queuing in use.
    pub queued: bool,
    /// The link negotiated; `None` on SCSI.
    pub link: Option<Link>,
    /// Maximum rate of the wire, in bytes of data per second.
    pub wire_bytes_per_s: u64,
    /// The host's elevator.
    pub scheduler: Scheduler,
    /// Requests the elevator sees, those on the wire included.
    pub nr_requests: usize,
    /// Size of the volatile write cache; `None` while it is off.
    pub write_cache_bytes: Option<u64>,
    /// True if the host reads that acknowledged writes can be lost until a flush; a drive with
    /// capacitors may say so all the same.
    pub reports_cache: bool,
    /// The user's choice: writes are made durable by forced unit access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fua: Option<Switch>,
    /// The rotational guard band of the firmware, in ns; `None` where it serves by arrival.
    pub guard_ns: Option<u64>,
    /// Growth of that guard band, as a share of the seek; `None` if it is constant.
    pub guard_growth: Option<f64>,
    /// Delivery of completions to the host; `None` except on `NVMe`.
    pub notice: Option<Notice>,
    /// Queues of an `NVMe` controller, each with separate `tags` and `nr_requests`; `None`
    /// elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_pairs: Option<QueuePairs>,
    /// Scale and initial state of the flash; `None` without flash.
    pub flash: Option<ModelledFlash>,
    /// Shingled tracks and what their media cache holds; `None` for other drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shingles: Option<ModelledShingles>,
}

/// The shingled tracks of a disk that manages them itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ModelledShingles {
    /// Size of the media cache, which takes writes before they go to a band.
    pub media_cache_bytes: u64,
    /// Size of a band, which is written as a whole.
    pub band_bytes: u64,
    /// Its initial state: the media cache is full in the steady one.
    pub precondition: Precondition,
}

impl Attachment {
    /// Returns true if the host makes a write durable by forced unit access, not by a flush behind
    /// it: libata leaves it off, and adapters of SCSI and `NVMe` use it.
    pub fn forces_unit_access(&self) -> bool {
        let usual = matches!(self.controller, Controller::Scsi | Controller::Nvme);
        self.fua.map_or(usual, Switch::is_on)
    }

    /// Commands that the drive has taken and not answered, at most, from all queues.
    pub(crate) fn commands_at_once(&self) -> usize {
        match self.queue_pairs {
            Some(pairs) => pairs.commands_at_once.min(pairs.count * self.tags),
            None => self.tags,
        }
    }
}

/// The modelled part of a solid-state drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ModelledFlash {
    /// Ratio of the real drive to the model.
    pub scale: Scale,
    /// Capacity of the real drive.
    pub whole_bytes: u64,
    /// Flash beyond these.
    pub spare_bytes: u64,
    /// The writes before the first request.
    pub precondition: Precondition,
    /// The share at its end that was trimmed and not rewritten.
    pub trimmed: Ratio,
    /// True if acknowledged data survives a power cut.
    pub protected: bool,
}

/// Several drives combined into one.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Arrangement {
    /// Drives.
    pub drives: usize,
    /// RAID level; `None` for concatenated drives.
    pub raid: Option<Level>,
    /// Data of one stripe on one drive; `None` without stripes.
    pub chunk_bytes: Option<u64>,
    /// The drive that has failed.
    pub failed: Option<usize>,
    /// Name of the bus that all share; `None` if each has a separate link.
    pub bus: Option<String>,
    /// Rates of the bus to and from the host, in bytes of data per second.
    pub bus_bytes_per_s: Option<[u64; 2]>,
    /// True if both directions share the bus.
    pub bus_shared: bool,
    /// Maximum commands at the controller; `None` if unlimited.
    pub host_queue: Option<usize>,
    /// Maximum size of the pieces into which requests are split.
    pub piece_bytes: u64,
}
