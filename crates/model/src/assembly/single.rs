//! One drive: what host, controller and drive agree on, and the parts put together.

use drivelab_core::Span;
use drivelab_core::dispatch::Dispatch;

use super::error::BuildError;
use crate::about::{About, Attachment};
use crate::controller::{Controller, Link, Port};
use crate::disk::Disk;
use crate::disk::parts::Parts;
use crate::disk::queue::Order;
use crate::drive::{Body, Drive, Fixed};
use crate::elevator::Scheduler;
use crate::options::{Options, Switch};
use crate::profile::{self, HddProfile, Interface, Profile};
use crate::stack::Stack;

pub(super) fn one(profile: &Profile, options: &Options, seed: u64) -> Result<Drive, BuildError> {
    let model = profile.model.clone();
    match &profile.body {
        profile::Body::Hdd(hdd) => attach(model, hdd, options, options.seed.unwrap_or(seed)),
        profile::Body::Other(blueprint) => blueprint.build(&model, options),
        profile::Body::Fixed { capacity, service, servers } => {
            let of_any = ["seed", "specimen"];
            let set = options.entries().into_iter().find(|(key, _)| !of_any.contains(key));
            if let Some((key, _)) = set {
                let nature = "is a fixed service time";
                return Err(BuildError::NothingToSet { model, nature, key });
            }
            let capacity_bytes = capacity.bytes().get();
            let about = About { model, capacity_bytes, attached: None, arrangement: None };
            let body = Body::Fixed(Fixed::new(*capacity, *service, *servers));
            Ok(Drive { about, body })
        }
    }
}

fn attach(
    model: String,
    hdd: &HddProfile,
    options: &Options,
    seed: u64,
) -> Result<Drive, BuildError> {
    let attached = negotiate(&model, hdd, options)?;
    let port = port(hdd, &attached);
    let flush_alone = hdd.interface == Interface::Sata;
    let write_cache = hdd.parts.write_cache.filter(|_| attached.write_cache_bytes.is_some());
    let disk = Disk::new(Parts { write_cache, ..hdd.parts.clone() }, port, seed);
    let stack = Box::new(Stack::new(&attached, flush_alone, disk));
    Ok(Drive::attached(model, attached, Body::Disk(stack)))
}

/// Linux gives a queue twice as many requests as the device takes commands: 2 on a port with one
/// command (`blk_mq_init_sched`, and so measured here), 64 where the host adapter takes 32,
/// whatever the drive on it does.
const REQUESTS_PER_SLOT: usize = 2;
const AHCI_SLOTS: usize = 32;
/// What a SCSI host adapter keeps on the wire to one drive at most.
const SCSI_SLOTS: usize = 64;
/// Requests that the elevator before a SCSI host adapter sees where nobody says how many.
pub const SCSI_NR_REQUESTS: usize = SCSI_SLOTS * REQUESTS_PER_SLOT;

/// What host, controller and drive agree on.
fn negotiate(model: &str, hdd: &HddProfile, options: &Options) -> Result<Attachment, BuildError> {
    let native = match hdd.interface {
        Interface::Sata => Controller::Ahci,
        Interface::Scsi => Controller::Scsi,
    };
    let controller = options.controller.unwrap_or(native);
    if hdd.interface == Interface::Scsi && controller != Controller::Scsi {
        return Err(BuildError::WrongController { model: model.to_owned(), controller });
    }
    let ncq = options.ncq.map(Switch::is_on);
    if controller == Controller::Ide && ncq == Some(true) {
        return Err(BuildError::NoQueuing);
    }
    let slots = match controller {
        Controller::Ide => 1,
        Controller::Ahci => AHCI_SLOTS,
        Controller::Scsi => SCSI_SLOTS,
    };
    let limit = options.tags.map_or(usize::MAX, |tags| tags as usize);
    let single = options.dispatch == Some(Dispatch::Single) || ncq == Some(false);
    let tags = if single { 1 } else { slots.min(hdd.queue_depth).min(limit) };
    let alone = if tags == 1 { Dispatch::Single } else { Dispatch::Shared };
    // A drive that sorts its own queue is left to it, one that gets single commands is sorted for.
    let sorting = if tags == 1 { Scheduler::Deadline } else { Scheduler::None };
    let nr_requests = options.nr_requests.map_or(slots * REQUESTS_PER_SLOT, |asked| asked as usize);
    let link = options.link.unwrap_or(Link::Sata3).min(hdd.link);
    let link = (hdd.interface == Interface::Sata).then_some(link);
    let cached = options.write_cache.unwrap_or(hdd.write_cache).is_on();
    let write_cache = hdd.parts.write_cache.filter(|_| cached);
    let (guard_ns, guard_growth) = match hdd.parts.order {
        Order::Fifo => (None, None),
        Order::ShortestPositioning { guard, .. } => (Some(guard.ns()), hdd.guard_growth),
    };
    Ok(Attachment {
        controller,
        dispatch: options.dispatch.unwrap_or(alone),
        tags,
        queued: tags > 1,
        link,
        wire_bytes_per_s: wire_rate(hdd, controller, link),
        scheduler: options.scheduler.unwrap_or(sorting),
        nr_requests,
        write_cache_bytes: write_cache.map(|limits| limits.size.bytes().get()),
        guard_ns,
        guard_growth,
    })
}

/// What the wire carries: the SATA link after 8b/10b coding, at most UDMA/133 in IDE mode.
fn wire_rate(hdd: &HddProfile, controller: Controller, link: Option<Link>) -> u64 {
    let rate = match link {
        None => hdd.bus.bytes_per_s,
        Some(Link::Sata1) => 150_000_000,
        Some(Link::Sata2) => 300_000_000,
        Some(Link::Sata3) => 600_000_000,
    };
    if controller == Controller::Ide { rate.min(133_000_000) } else { rate }
}

fn port(hdd: &HddProfile, attached: &Attachment) -> Port {
    let frames = match attached.link {
        None => hdd.bus.per_command,
        // Measured on chipset ports: 5.3-5.5 us at 3 Gb/s, 3.3 us at 6 Gb/s
        // (docs/internals/drive-facts.md); the
        // line through both, in bit times, gives the slowest.
        Some(Link::Sata1) => Span::from_ns(9_600),
        Some(Link::Sata2) => Span::from_ns(5_400),
        Some(Link::Sata3) => Span::from_ns(3_300),
    };
    // A taskfile of eight register writes, the bus master set up and the status read back, each
    // an uncached access of about 1 us. An estimate, not a measurement.
    let registers =
        if attached.controller == Controller::Ide { Span::from_us(12) } else { Span::ZERO };
    Port::new(attached.wire_bytes_per_s, frames + registers)
}
