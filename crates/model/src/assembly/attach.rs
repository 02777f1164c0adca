//! What host, controller and drive agree on.

use drivelab_core::dispatch::Dispatch;
use drivelab_core::{Bytes, Span};

use super::error::BuildError;
use crate::about::Attachment;
use crate::controller::{Burst, Controller, Link, Notice, Port, QueuePairs, Weighted, Weights};
use crate::elevator::Scheduler;
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
    /// What a drive with several queues works on, from all of them.
    pub(super) commands_at_once: usize,
    pub(super) write_cache: Switch,
    /// What a volatile cache holds; `None` where there is none.
    pub(super) write_cache_bytes: Option<Bytes>,
}

/// Linux gives a queue twice as many requests as the device takes commands: 2 on a port with one
/// command (`blk_mq_init_sched`, and so measured here), 64 where the host adapter takes 32,
/// whatever the drive on it does.
const REQUESTS_PER_SLOT: usize = 2;
const AHCI_SLOTS: usize = 32;
/// What a SCSI host adapter keeps on the wire to one drive at most.
const SCSI_SLOTS: usize = 64;
/// The entries of a queue that Linux uses at most (`NVME_Q_DEPTH` 1024, one stays free).
const NVME_SLOTS: usize = 1023;
/// Requests that the elevator before a SCSI host adapter sees where nobody says how many.
pub const SCSI_NR_REQUESTS: usize = SCSI_SLOTS * REQUESTS_PER_SLOT;

/// What host, controller and drive agree on.
pub(super) fn negotiate(
    model: &str,
    front: &Front,
    options: &Options,
) -> Result<Attachment, BuildError> {
    let controller = controller(model, front.interface, options)?;
    let ncq = options.ncq.map(Switch::is_on);
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
    let tags = if single { 1 } else { slots.min(front.queue_depth).min(limit) };
    let alone = if tags == 1 { Dispatch::Single } else { Dispatch::Shared };
    let queue_pairs = queue_pairs(model, front, controller, options)?;
    let several = queue_pairs.is_some_and(|pairs| pairs.count > 1);
    // A drive that sorts its own queue is left to it, one that gets single commands is sorted for.
    let sorting = if tags == 1 && !several { Scheduler::Deadline } else { Scheduler::None };
    let scheduler = options.scheduler.unwrap_or(sorting);
    if several && scheduler != Scheduler::None {
        return Err(BuildError::Queues("an elevator sorts for one queue: omit `scheduler`"));
    }
    let per_slot = if controller == Controller::Nvme { 1 } else { REQUESTS_PER_SLOT };
    let nr_requests = options.nr_requests.map_or(slots * per_slot, |asked| asked as usize);
    let link = link(model, front, options)?;
    let cached = options.write_cache.unwrap_or(front.write_cache).is_on();
    let notice = notice(model, controller, options)?;
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
        guard_ns: None,
        guard_growth: None,
        notice,
        queue_pairs,
        flash: None,
    })
}

fn controller(
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

/// The link that port and drive agree on.
fn link(model: &str, front: &Front, options: &Options) -> Result<Option<Link>, BuildError> {
    let own = front.link;
    let fastest = match front.interface {
        Interface::Scsi => return Ok(None),
        Interface::Sata => Link::Sata3,
        Interface::Nvme => own,
    };
    let link = options.link.unwrap_or(fastest);
    let agreed = link.common(own);
    let wrong = || BuildError::WrongLink { model: model.to_owned(), link, own };
    agreed.ok_or_else(wrong).map(Some)
}

fn notice(
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

/// The queues of an `NVMe` controller: one where nobody asks for more.
fn queue_pairs(
    model: &str,
    front: &Front,
    controller: Controller,
    options: &Options,
) -> Result<Option<QueuePairs>, BuildError> {
    let asked = options.of_queues().into_iter().find(|(_, set)| *set);
    if controller != Controller::Nvme {
        let Some((key, _)) = asked else { return Ok(None) };
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

/// What the wire carries: the link after its coding, at most UDMA/133 in IDE mode.
fn wire_rate(front: &Front, controller: Controller, link: Option<Link>) -> u64 {
    let rate = link.map_or(front.bus.bytes_per_s, Link::bytes_per_s);
    if controller == Controller::Ide { rate.min(133_000_000) } else { rate }
}

/// Who adds what the registers of a controller cost the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostSide {
    /// The drive, with an estimate.
    Modelled,
    /// Whoever has the registers.
    Real,
}

pub(super) fn port(front: &Front, attached: &Attachment, host: HostSide) -> Port {
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
