//! Negotiation between host, controller and drive.

use drivelab_core::dispatch::Dispatch;
use drivelab_core::{Bytes, Span};

use crate::about::Attachment;
use crate::controller::{Burst, Controller, Link, Notice, Port, QueuePairs, Weighted, Weights};
use crate::elevator::Scheduler;
use crate::error::BuildError;
use crate::options::{Options, Switch};
use crate::profile::{Interface, ScsiBus};

/// A drive's side of the wire.
#[derive(Debug, Clone, Copy)]
pub(super) struct Front {
    pub(super) interface: Interface,
    pub(super) link: Link,
    /// For SCSI.
    pub(super) bus: ScsiBus,
    pub(super) queue_depth: usize,
    /// Commands in progress at a drive with several queues, from all of them.
    pub(super) commands_at_once: usize,
    pub(super) write_cache: Switch,
    /// Size of the volatile cache; `None` without one.
    pub(super) write_cache_bytes: Option<Bytes>,
    /// True if the host reads of it.
    pub(super) reports_cache: bool,
}

/// Requests of the elevator for each slot of the host adapter.
// Linux allows twice as many requests as the device has slots: 2 on a port with one command
// (`blk_mq_init_sched`, confirmed by measurement), 64 on an adapter with 32, independent of the
// drive on it.
const REQUESTS_PER_SLOT: usize = 2;
const AHCI_SLOTS: usize = 32;
/// Maximum commands that a SCSI host adapter keeps on the wire to one drive.
const SCSI_SLOTS: usize = 64;
/// The entries of a queue that Linux uses at most (`NVME_Q_DEPTH` 1024, one stays free).
const NVME_SLOTS: usize = 1023;
/// Default `nr_requests` of the elevator in front of a SCSI host adapter.
pub const SCSI_NR_REQUESTS: usize = SCSI_SLOTS * REQUESTS_PER_SLOT;

/// Returns the settings on which host, controller and drive agree.
pub(super) fn negotiate(
    model: &str,
    front: &Front,
    options: &Options,
) -> Result<Attachment, BuildError> {
    let controller = compatible_controller(model, front.interface, options)?;
    let ncq = options.ncq.map(Switch::is_on);
    // Command queuing needs tags on the wire, which a taskfile does not have.
    if controller == Controller::Ide && ncq == Some(true) {
        return Err(BuildError::NoQueuing);
    }
    let slots = match controller {
        Controller::Ide => 1,
        Controller::Ahci => AHCI_SLOTS,
        Controller::Scsi => SCSI_SLOTS,
        Controller::Nvme => NVME_SLOTS,
    };
    let limit = options.tags.map_or(usize::MAX, |tags| tags as usize);
    let single = options.dispatch == Some(Dispatch::Single) || ncq == Some(false);
    // A controller without NCQ sends one command at a time, regardless of the drive's queue depth.
    let tags = if single { 1 } else { slots.min(front.queue_depth).min(limit) };
    let alone = if tags == 1 { Dispatch::Single } else { Dispatch::Shared };
    let queue_pairs = requested_queue_pairs(model, front, controller, options)?;
    let several = queue_pairs.is_some_and(|pairs| pairs.count > 1);
    // A drive with a queue sorts it with knowledge of its geometry; a drive that gets single
    // commands depends on the host's elevator.
    let default = if tags == 1 && !several { Scheduler::Deadline } else { Scheduler::None };
    let scheduler = options.scheduler.unwrap_or(default);
    // Linux attaches no elevator to several hardware queues by default either.
    if several && scheduler != Scheduler::None {
        return Err(BuildError::Queues("an elevator sorts for one queue: omit `scheduler`"));
    }
    // An NVMe queue has no more requests than entries; the other stacks keep a reserve to sort.
    let per_slot = if controller == Controller::Nvme { 1 } else { REQUESTS_PER_SLOT };
    let nr_requests = options.nr_requests.map_or(slots * per_slot, |asked| asked as usize);
    let link = negotiated_link(model, front, options)?;
    let cached = options.write_cache.unwrap_or(front.write_cache).is_on();
    debug_assert!(tags >= 1 && nr_requests >= 1, "a drive takes at least one command");
    Ok(Attachment {
        controller,
        dispatch: options.dispatch.unwrap_or(alone),
        tags,
        queued: tags > 1,
        link,
        wire_bytes_per_s: wire_rate(front, controller, link),
        scheduler,
        nr_requests,
        write_cache_bytes: front.write_cache_bytes.filter(|_| cached).map(Bytes::get),
        reports_cache: front.reports_cache && cached,
        fua: options.fua,
        guard_ns: None,
        guard_growth: None,
        queue_pairs,
        flash: None,
        shingles: None,
        notice: completion_notice(model, controller, options)?,
    })
}

fn compatible_controller(
    model: &str,
    interface: Interface,
    options: &Options,
) -> Result<Controller, BuildError> {
    let (kind, right) = match interface {
        Interface::Sata => ("SATA", Controller::Ahci),
        Interface::Scsi => ("SCSI", Controller::Scsi),
        Interface::Nvme => ("NVMe", Controller::Nvme),
    };
    let controller = options.controller.unwrap_or(right);
    let fits = match interface {
        // SAS host adapters take SATA drives.
        Interface::Sata => controller != Controller::Nvme,
        Interface::Scsi | Interface::Nvme => controller == right,
    };
    if fits {
        return Ok(controller);
    }
    Err(BuildError::WrongController { model: model.to_owned(), controller, kind, right })
}

/// Returns the fastest link that both port and drive support.
fn negotiated_link(
    model: &str,
    front: &Front,
    options: &Options,
) -> Result<Option<Link>, BuildError> {
    let own = front.link;
    // The host's side is not the limit unless the options say so.
    let fastest = match front.interface {
        Interface::Scsi => return Ok(None),
        Interface::Sata => Link::Sata3,
        Interface::Nvme => own,
    };
    let link = options.link.unwrap_or(fastest);
    match link.common(own) {
        Some(agreed) => Ok(Some(agreed)),
        None => Err(BuildError::WrongLink { model: model.to_owned(), link, own }),
    }
}

fn completion_notice(
    model: &str,
    controller: Controller,
    options: &Options,
) -> Result<Option<Notice>, BuildError> {
    if controller == Controller::Nvme {
        return Ok(Some(options.completion.unwrap_or(Notice::Interrupt)));
    }
    let (nature, key) = ("is not an NVMe drive", "completion");
    match options.completion {
        Some(_) => Err(BuildError::NothingToSet { model: model.to_owned(), nature, key }),
        None => Ok(None),
    }
}

/// Returns the queues of an `NVMe` controller, one by default.
fn requested_queue_pairs(
    model: &str,
    front: &Front,
    controller: Controller,
    options: &Options,
) -> Result<Option<QueuePairs>, BuildError> {
    let requested = options.of_queues().into_iter().find(|(_, set)| *set);
    if controller != Controller::Nvme {
        let Some((key, _)) = requested else { return Ok(None) };
        let nature = "is not an NVMe drive";
        return Err(BuildError::NothingToSet { model: model.to_owned(), nature, key });
    }
    let count = options.queues.map_or(1, |queues| queues as usize);
    if count == 1 && options.of_queues()[1..].iter().any(|(_, set)| *set) {
        return Err(BuildError::Queues(
            "there is nothing to choose between: add `queues=2` or more",
        ));
    }
    let weighted = match (options.queue_priorities, options.queue_weights) {
        (Some(priorities), _) if priorities.count() != count => {
            return Err(BuildError::Queues("`queue-priorities` needs one name for each queue"));
        }
        (Some(priorities), weights) => {
            Some(Weighted { priorities, weights: weights.unwrap_or(Weights::DOUBLING) })
        }
        (None, Some(_)) => {
            return Err(BuildError::Queues("`queue-weights` needs `queue-priorities`"));
        }
        (None, None) => None,
    };
    let burst = options.queue_burst.unwrap_or(Burst::ONE);
    Ok(Some(QueuePairs { count, commands_at_once: front.commands_at_once, burst, weighted }))
}

/// Returns the data rate of the wire: the link after its coding, at most UDMA/133 in IDE mode.
fn wire_rate(front: &Front, controller: Controller, link: Option<Link>) -> u64 {
    let rate = link.map_or(front.bus.bytes_per_s, Link::bytes_per_s);
    if controller == Controller::Ide { rate.min(133_000_000) } else { rate }
}

/// The source of the processor time for a controller's registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostSide {
    /// An estimate that the drive adds.
    Modelled,
    /// Register accesses of a real controller.
    Real,
}

pub(super) fn build_port(front: &Front, attached: &Attachment, host: HostSide) -> Port {
    let frames = attached.link.map_or(front.bus.per_command, Link::per_command);
    // A taskfile of eight register writes, the bus master set up and the status read back, each
    // an uncached access of about 1 us. An estimate, not a measurement; `ata_piix` of Linux 6.12
    // makes 30 accesses (docs/internals/kernel-stage.md).
    let registers = match (attached.controller, host) {
        (Controller::Ide, HostSide::Modelled) => Span::from_us(12),
        _ => Span::ZERO,
    };
    let port = Port::new(attached.wire_bytes_per_s, frames + registers);
    match attached.notice {
        Some(notice) => port.duplex(notice.latency()),
        None => port,
    }
}
