//! What a drive is, for reports.

use drivelab_core::Ratio;
use drivelab_core::dispatch::Dispatch;

use crate::controller::{Controller, Link, Notice, QueuePairs};
use crate::elevator::Scheduler;
use crate::raid::Level;
use crate::ssd::{Precondition, Scale};
use crate::tier::TierKind;

/// What a drive is, for reports.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct About {
    /// The model, as its maker calls it.
    pub model: String,
    /// Addressable bytes.
    pub capacity_bytes: u64,
    /// How it is attached; `None` for a drive that is nothing but a service time.
    pub attached: Option<Attachment>,
    /// How several of it are put together; `None` for one of its own.
    pub arrangement: Option<Arrangement>,
    /// The fast drive before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<Box<ModelledTier>>,
}

/// A fast drive before a slow one.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ModelledTier {
    /// What it does.
    pub kind: TierKind,
    /// Memory before it; `None` where it has none.
    pub page_cache_bytes: Option<u64>,
    /// Whether it began with the beginning of the slow drive on it.
    pub warm: bool,
    /// The fast drive.
    pub drive: About,
}

impl About {
    /// Whether acknowledged writes may be lost with the power.
    pub fn has_volatile_cache(&self) -> bool {
        let attached = self.attached.as_ref();
        let keeps = |tier: &ModelledTier| tier.kind == TierKind::Writeback;
        attached.is_some_and(|attached| attached.write_cache_bytes.is_some())
            || self.tier.as_deref().is_some_and(keeps)
    }
}

/// How a drive is attached and set, as it came out of profile, options and negotiation.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Attachment {
    /// The controller.
    pub controller: Controller,
    /// How tags are given out.
    pub dispatch: Dispatch,
    /// Commands that may be on the wire at once, of each queue.
    pub tags: usize,
    /// Native (or SCSI) command queuing in use.
    pub queued: bool,
    /// The link negotiated; `None` on SCSI.
    pub link: Option<Link>,
    /// What the wire carries at most, in bytes of data per second.
    pub wire_bytes_per_s: u64,
    /// The host's elevator.
    pub scheduler: Scheduler,
    /// Requests the elevator sees, those on the wire included.
    pub nr_requests: usize,
    /// What the drive's volatile write cache holds; `None` while it is off.
    pub write_cache_bytes: Option<u64>,
    /// The rotational guard band of the firmware, in ns; `None` where it serves by arrival.
    pub guard_ns: Option<u64>,
    /// By what share of the seek that guard band grows; `None` where it does not.
    pub guard_growth: Option<f64>,
    /// How the host learns of completions; `None` but on `NVMe`.
    pub notice: Option<Notice>,
    /// Queues of an `NVMe` controller, each with `tags` and `nr_requests` of its own; `None`
    /// elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_pairs: Option<QueuePairs>,
    /// What of the flash is modelled, and in which state; `None` without flash.
    pub flash: Option<ModelledFlash>,
}

impl Attachment {
    /// Commands that the drive has taken and not answered, at most, from all queues.
    pub(crate) fn commands_at_once(&self) -> usize {
        let limit = |pairs: QueuePairs| pairs.commands_at_once.min(pairs.count * self.tags);
        self.queue_pairs.map_or(self.tags, limit)
    }
}

/// What of a solid-state drive is modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ModelledFlash {
    /// How much smaller it is than the drive.
    pub scale: Scale,
    /// The bytes that the drive itself has.
    pub whole_bytes: u64,
    /// Flash beyond these.
    pub spare_bytes: u64,
    /// What was written to it before.
    pub precondition: Precondition,
    /// The share at its end that was trimmed and not written since.
    pub trimmed: Ratio,
    /// Whether acknowledged data survives a power cut.
    pub protected: bool,
}

/// How several drives are put together.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Arrangement {
    /// Drives.
    pub drives: usize,
    /// How the array keeps its data; `None` where one drive follows another.
    pub raid: Option<Level>,
    /// Data of one stripe on one drive; `None` without stripes.
    pub chunk_bytes: Option<u64>,
    /// The drive that has failed.
    pub failed: Option<usize>,
    /// The name of the bus that all share; `None` where each has its own way.
    pub bus: Option<String>,
    /// What the bus carries to and from the host, in bytes of data per second.
    pub bus_bytes_per_s: Option<[u64; 2]>,
    /// Whether both directions share the bus.
    pub bus_shared: bool,
    /// Commands that the controller takes at once; `None` where there is no such limit.
    pub host_queue: Option<usize>,
    /// The longest piece into which requests are cut.
    pub piece_bytes: u64,
}
