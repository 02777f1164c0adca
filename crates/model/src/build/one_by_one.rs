//! Attaching a drive that takes one command at a time.

use drivelab_core::Device as _;
use drivelab_core::dispatch::Dispatch;
use drivelab_core::units::SECTOR_BYTES;

use super::{BuildError, REQUESTS_PER_SLOT, SCSI_SLOTS};
use crate::controller::{Controller, Wire};
use crate::drive::{About, Attached, Body, Drive, Mechanism, Stack};
use crate::host::{Host, Scheduler};
use crate::scsi;
use crate::scsi::params::Params;
use crate::spec::{Options, Switch};

pub(super) fn attach(
    model: String,
    params: &Params,
    options: &Options,
) -> Result<Drive, BuildError> {
    if let Some(controller) = options.controller.filter(|asked| *asked != Controller::Scsi) {
        return Err(BuildError::WrongController { model, controller });
    }
    let unknown = [
        ("link", options.link.is_some()),
        ("ncq", options.ncq.is_some()),
        ("dispatch", options.dispatch.is_some_and(|asked| asked != Dispatch::Single)),
    ];
    if let Some((key, _)) = unknown.into_iter().find(|(_, set)| *set) {
        return Err(BuildError::OneCommand { model, key });
    }
    let mut params = params.clone();
    if let Some(asked) = options.write_cache {
        params.writes.immediate_report = asked == Switch::On;
    }
    let segment = params.buffer.segment_size * SECTOR_BYTES;
    let sector_ns = params.bus.read_sector.ns();
    let attached = Attached {
        controller: Controller::Scsi,
        dispatch: Dispatch::Single,
        tags: 1,
        queued: false,
        link: None,
        wire_bytes_per_s: (SECTOR_BYTES * 1_000_000_000).checked_div(sector_ns).unwrap_or(u64::MAX),
        // In order, as the host of a DiskSim file does.
        scheduler: options.scheduler.unwrap_or(Scheduler::None),
        nr_requests: options
            .nr_requests
            .map_or(SCSI_SLOTS * REQUESTS_PER_SLOT, |asked| asked as usize),
        write_cache_bytes: params.writes.immediate_report.then_some(segment),
        guard_ns: None,
    };
    let host = Host::new(attached.scheduler, attached.nr_requests);
    let wire = Wire::new(Dispatch::Single, 1, false);
    let disk = Mechanism::OneByOne(Box::new(scsi::Disk::new(params)));
    let stack = Box::new(Stack::new(host, wire, disk));
    let mut drive = Drive {
        about: About { model, capacity_bytes: 0, attached: Some(attached), arrangement: None },
        body: Body::Stack(stack),
    };
    drive.about.capacity_bytes = drive.capacity().bytes().get();
    Ok(drive)
}
