//! Assembly of a single drive.

use drivelab_core::{Invalid, Ratio, Sectors, Span};

use super::attach::{Front, HostSide, build_port, negotiate};
use crate::about::{About, Attachment, ModelledFlash, ModelledShingles};
use crate::controller::{Controller, Link};
use crate::disk::Disk;
use crate::disk::parts::Parts;
use crate::disk::queue::Order;
use crate::drive::{Body, Drive, Fixed, Volume};
use crate::error::BuildError;
use crate::options::Options;
use crate::profile::{self, HddProfile, Interface, Modelled, Profile, SsdProfile};
use crate::ssd::{BackendRules, Precondition, Ssd, SsdParts};
use crate::stack::Stack;

pub(super) fn build(profile: &Profile, options: &Options, seed: u64) -> Result<Drive, BuildError> {
    on_host(profile, options, seed, HostSide::Modelled)
}

pub(super) fn on_host(
    profile: &Profile,
    options: &Options,
    seed: u64,
    host: HostSide,
) -> Result<Drive, BuildError> {
    let model = profile.model.clone();
    let seed = options.seed.unwrap_or(seed);
    match &profile.body {
        profile::Body::Hdd(hdd) => build_disk(model, hdd, options, seed, host),
        profile::Body::Ssd(ssd) => {
            let cacheless = !ssd.reports_cache() && options.write_cache.is_some();
            // A drive that reports no volatile cache has none to switch off. A specimen of a
            // mixture may be one; then the setting changes nothing.
            let known = !profile.has_drawn("power_loss_protection");
            refuse(&model, "has power-loss protection", &[("write-cache", cacheless && known)])?;
            build_ssd(model, ssd, options, seed, host)
        }
        profile::Body::Other(blueprint) => blueprint.build(&model, options),
        profile::Body::Volume(volume) => {
            refuse_all(&model, options, "is a volume of a cloud")?;
            let body = Body::Volume(Box::new(Volume::new((**volume).clone())));
            Ok(unattached(model, volume.capacity, body))
        }
        profile::Body::Fixed { capacity, service, servers } => {
            refuse_all(&model, options, "is a fixed service time")?;
            let body = Body::Fixed(Box::new(Fixed::new(*capacity, *service, *servers)));
            Ok(unattached(model, *capacity, body))
        }
    }
}

/// Refuses all but the options of any drive: without controller and medium there is nothing to set.
fn refuse_all(model: &str, options: &Options, nature: &'static str) -> Result<(), BuildError> {
    let common = ["seed", "specimen"];
    let other = options.entries().into_iter().find(|(key, _)| !common.contains(key));
    match other {
        Some((key, _)) => Err(BuildError::NothingToSet { model: model.to_owned(), nature, key }),
        None => Ok(()),
    }
}

fn unattached(model: String, capacity: Sectors, body: Body) -> Drive {
    let capacity_bytes = capacity.bytes().get();
    let about = About {
        model,
        capacity_bytes,
        attached: None,
        arrangement: None,
        tier: None,
        controller_cache: None,
    };
    Drive { about, body }
}

fn build_disk(
    model: String,
    hdd: &HddProfile,
    options: &Options,
    seed: u64,
    host: HostSide,
) -> Result<Drive, BuildError> {
    let not_here = options.of_flash().map(|(key, set)| {
        // What shingled tracks hold decides as much as what flash holds.
        (key, set && !(key == "precondition" && hdd.shingling.is_some()))
    });
    refuse(&model, "is a hard disk", &not_here)?;
    let (guard_ns, guard_growth) = match hdd.parts.order {
        Order::Fifo => (None, None),
        Order::ShortestPositioning { guard, .. } => (Some(guard.ns()), hdd.guard_growth),
    };
    let front = Front {
        interface: hdd.interface,
        link: hdd.link,
        bus: hdd.bus,
        queue_depth: hdd.queue_depth,
        commands_at_once: hdd.queue_depth,
        write_cache: hdd.write_cache,
        write_cache_bytes: hdd.parts.write_cache.map(|limits| limits.size.bytes()),
        reports_cache: hdd.parts.write_cache.is_some(),
    };
    let attached = negotiate(&model, &front, options)?;
    let state = options.precondition.unwrap_or(hdd.precondition);
    let shingles = hdd.shingling.map(|shape| ModelledShingles {
        media_cache_bytes: shape.cache.bytes().get(),
        band_bytes: shape.band.bytes().get(),
        precondition: state,
    });
    let attached = Attachment { guard_ns, guard_growth, shingles, ..attached };
    let port = build_port(&front, &attached, host);
    // On ATA a flush is not a queued command.
    let flush_alone = hdd.interface == Interface::Sata;
    // The cache may be off in the options, while its size is a property of the drive.
    let write_cache = hdd.parts.write_cache.filter(|_| attached.write_cache_bytes.is_some());
    let disk = Disk::new(Parts { write_cache, ..hdd.parts.clone() }, port, seed);
    let disk = match hdd.shingling {
        Some(shape) => disk.shingled(shape, state == Precondition::Steady, seed),
        None => disk,
    };
    let stack = Box::new(Stack::new(&attached, flush_alone, disk));
    Ok(Drive::attached(model, attached, Body::Disk(stack)))
}

/// Additional time of a command behind a SAS host adapter, compared with a port of the chipset:
/// 13.5 us a read of 4 KiB, measured with one solid-state drive on 6 Gb/s
/// (docs/internals/ssd-model.md). Disks, which were not measured so, keep the time of a port.
fn host_adapter_delay(attached: &Attachment) -> Span {
    let measured = (Controller::Scsi, Some(Link::Sata3));
    let behind = (attached.controller, attached.link) == measured;
    if behind { Span::from_ns(3_400) } else { Span::ZERO }
}

fn refuse(
    model: &str,
    nature: &'static str,
    options: &[(&'static str, bool)],
) -> Result<(), BuildError> {
    match options.iter().find(|(_, set)| *set) {
        Some((key, _)) => Err(BuildError::NothingToSet { model: model.to_owned(), nature, key }),
        None => Ok(()),
    }
}

fn build_ssd(
    model: String,
    ssd: &SsdProfile,
    options: &Options,
    seed: u64,
    host: HostSide,
) -> Result<Drive, BuildError> {
    let front = Front {
        interface: ssd.interface,
        link: ssd.link,
        bus: ssd.bus,
        queue_depth: ssd.queue_depth,
        commands_at_once: ssd.commands_at_once,
        write_cache: ssd.write_cache,
        write_cache_bytes: ssd.volatile_cache(),
        reports_cache: ssd.reports_cache(),
    };
    let attached = negotiate(&model, &front, options)?;
    let scale = options.scale.unwrap_or(ssd.scale);
    let precondition = options.precondition.unwrap_or(ssd.precondition);
    let trimmed = options.trimmed.unwrap_or(Ratio::ZERO);
    let modelled = ModelledFlash {
        scale,
        whole_bytes: ssd.capacity.bytes().get(),
        spare_bytes: ssd.spare_bytes(options.spare),
        precondition,
        trimmed,
        protected: ssd.protected,
    };
    let attached = Attachment { flash: Some(modelled), ..attached };
    let write_cache = attached.write_cache_bytes.is_some();
    // UDMA, behind a taskfile, counts no frames. Disks do not reach the rate of the link.
    let link = attached.link.filter(|_| attached.controller != Controller::Ide);
    let port = build_port(&front, &attached, host)
        .framed(link.map_or(Span::ZERO, Link::per_frame))
        .slowed(ssd.command_processing + host_adapter_delay(&attached));
    let built = ssd.parts(Modelled { scale, spare: options.spare, seed }).and_then(|parts| {
        // A full drive has no free space to write as SLC, and needs no map of it.
        let is_full = precondition != Precondition::Fresh && trimmed == Ratio::ZERO;
        let slc = parts.backend.slc.filter(|slc| !is_full || slc.is_set_aside());
        let backend = BackendRules { slc, ..parts.backend };
        let parts = SsdParts { backend, write_cache, ..parts };
        Ssd::new(parts, port, attached.commands_at_once()).map_err(Invalid::new)
    });
    let mut drive = match built {
        Ok(drive) => drive,
        Err(Invalid(message)) => return Err(BuildError::Flash { model, message }),
    };
    drive.precondition(precondition, trimmed);
    let flush_alone = ssd.interface == Interface::Sata;
    let stack = Box::new(Stack::new(&attached, flush_alone, drive));
    Ok(Drive::attached(model, attached, Body::Ssd(stack)))
}
