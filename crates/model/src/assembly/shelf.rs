//! Several drives behind one controller, and arrays over them.

use drivelab_core::units::SECTOR_BYTES;
use drivelab_core::{Device as _, Rng, Sectors};

use super::single;
use crate::about::{About, Arrangement};
use crate::drive::{Body, Drive};
use crate::elevator::Scheduler;
use crate::error::BuildError;
use crate::options::Options;
use crate::profile::Profile;
use crate::raid::{Array, Level, Shape};
use crate::shelf::{Member, Sharing, Shelf};

/// Linux' default for the maximum size of a request
/// (`BLK_DEF_MAX_SECTORS` 1024 in include/linux/blkdev.h of 2.6; sysfs `max_sectors_kb`).
const MAX_SECTORS: u64 = 1024;
/// md's chunk since mdadm 3.1 of 2009; before it was 64 KiB (mdadm's manual, `--chunk`).
const CHUNK: u64 = 1024;
/// Queue depth of a drive without a controller.
// Our choice: deep enough that it limits no load.
const DEPTH: usize = 64;

pub(super) fn build(profile: &Profile, options: &Options, seed: u64) -> Result<Drive, BuildError> {
    let shape = array_shape(options)?;
    let drives = options.drives.unwrap_or(1);
    let own = options.single_drive();
    let seed = options.seed.unwrap_or(seed);
    let mut members = Vec::new();
    for index in 0..u64::from(drives) {
        // A shelf of one drive must equal the drive without a shelf, down to its seed.
        let seed = if drives == 1 { seed } else { Rng::for_part(seed, index).bits() };
        members.push(member(single::build(profile, &own, seed)?));
    }
    // Equal attachments: the first member describes them all.
    let about = members[0].device.about();
    let (model, attached) = (about.model.clone(), about.attached.clone());
    let piece = options.max_sectors_kb.map_or(MAX_SECTORS, |kib| u64::from(kib) * 2);
    let bus = options.bus.map(|bus| (bus, bus.rates(options.link)));
    let arrangement = Arrangement {
        drives: drives as usize,
        raid: options.raid,
        chunk_bytes: shape.filter(|s| s.level != Level::Raid1).map(|s| s.chunk.bytes().get()),
        failed: shape.and_then(|shape| shape.failed),
        bus: bus.map(|(bus, _)| bus.to_string()),
        bus_bytes_per_s: bus.map(|(_, rates)| [rates.reads, rates.writes]),
        bus_shared: bus.is_some_and(|(_, rates)| rates.shared),
        host_queue: options.host_queue.map(|limit| limit as usize),
        piece_bytes: piece * SECTOR_BYTES,
    };
    let host_queue = arrangement.host_queue.unwrap_or(usize::MAX);
    let sharing = Sharing { bus, piece: Sectors::new(piece), host_queue };
    let shelf = Shelf::new(members, sharing);
    let body = match shape {
        Some(shape) => Body::Array(Box::new(Array::new(shelf, shape))),
        None => Body::Shelf(Box::new(shelf)),
    };
    let about = About {
        model,
        capacity_bytes: 0,
        attached,
        arrangement: Some(arrangement),
        tier: None,
        controller_cache: None,
    };
    let mut drive = Drive { about, body };
    // Only the assembled body knows the capacity: parity and rounding to chunks reduce it.
    drive.about.capacity_bytes = drive.capacity().bytes().get();
    Ok(drive)
}

/// Wraps a drive for the shelf: its limit is the number of its tags, or `nr_requests` if an
/// elevator sorts its commands.
fn member(device: Drive) -> Member<Drive> {
    let attached = device.about().attached.as_ref();
    let limit = attached.map_or(DEPTH, |attached| match attached.scheduler {
        Scheduler::None => attached.tags * attached.queue_pairs.map_or(1, |pairs| pairs.count),
        _ => attached.nr_requests,
    });
    let wire_bytes_per_s = attached.map(|attached| attached.wire_bytes_per_s);
    Member { device, limit, wire_bytes_per_s }
}

fn array_shape(asked: &Options) -> Result<Option<Shape>, BuildError> {
    let members = asked.drives.unwrap_or(1) as usize;
    let Some(level) = asked.raid else {
        if asked.chunk.is_some() {
            return Err(BuildError::Shelf(
                "`chunk` needs stripes: add `raid=0`, `raid=5`, `raid=6` or `raid=10`",
            ));
        }
        if asked.failed.is_some() {
            return Err(BuildError::Shelf(
                "`failed` needs redundancy: add `raid=1`, `raid=5`, `raid=6` or `raid=10`",
            ));
        }
        return Ok(None);
    };
    let failed = asked.failed.map(|failed| failed as usize);
    if members < level.least() {
        return Err(BuildError::Shelf(match level {
            Level::Raid0 | Level::Raid1 | Level::Raid10 => {
                "`raid=0`, `raid=1` and `raid=10` need two drives or more: add `drives=2`"
            }
            Level::Raid5 => "`raid=5` needs three drives or more: add `drives=3`",
            Level::Raid6 => "`raid=6` needs four drives or more: add `drives=4`",
        }));
    }
    if level == Level::Raid0 && failed.is_some() {
        return Err(BuildError::Shelf(
            "`failed` needs redundancy: RAID 0 is lost with any of its drives",
        ));
    }
    if level == Level::Raid1 && asked.chunk.is_some() {
        return Err(BuildError::Shelf("`chunk` needs stripes: RAID 1 has none"));
    }
    if failed.is_some_and(|failed| failed >= members) {
        return Err(BuildError::Shelf(
            "`failed` names a drive that is not there: they count from 0",
        ));
    }
    let chunk = asked.chunk.map_or(Sectors::new(CHUNK), Sectors::holding);
    Ok(Some(Shape { level, members, chunk, failed }))
}
