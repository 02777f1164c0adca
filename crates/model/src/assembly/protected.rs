//! Assembly of a RAID controller's write cache in front of drives.

use drivelab_core::{Bytes, Sectors};

use crate::about::ControllerCache;
use crate::drive::{Body, Drive, Memory, Protected};
use crate::error::BuildError;
use crate::options::{Options, Switch};
use crate::profile::{self, Profile};
use crate::raid::Level;

/// Writes to the drives at a time, for each of them.
// Our choice: enough for the drives to order, and few enough for reads to come in between.
const WRITES_EACH: usize = 4;
/// The longest write to drives without stripes, in sectors.
const LONGEST: u64 = 1024;

/// Builds the drive behind the cache that `options` describe; `build` builds it without.
pub(super) fn build(
    profile: &Profile,
    options: &Options,
    build: impl FnOnce(&Options) -> Result<Drive, BuildError>,
) -> Result<Drive, BuildError> {
    let Some(size) = options.controller_cache else {
        return Err(BuildError::Shelf("`battery` needs a cache: add `controller-cache=1g`"));
    };
    if options.tier.is_some() {
        return Err(BuildError::Shelf("`controller-cache` and `tier` exclude each other"));
    }
    if !profile.is_attached() {
        let (model, nature) = (profile.model.clone(), "is behind no controller");
        return Err(BuildError::NothingToSet { model, nature, key: "controller-cache" });
    }
    let own = Options {
        controller_cache: None,
        battery: None,
        write_cache: options.write_cache.or(off_if_volatile(profile)),
        ..*options
    };
    let mut drive = build(&own)?;
    let protected = options.battery != Some(Switch::Off);
    drive.about.controller_cache = Some(ControllerCache { bytes: size.get(), protected });
    if !protected {
        return Ok(drive);
    }
    let mut about = drive.about.clone();
    let memory = memory_of(&about, size);
    // The controller answers for the caches behind it, too.
    if let Some(attached) = &mut about.attached {
        attached.reports_cache = false;
    }
    Ok(Drive { about, body: Body::Protected(Box::new(Protected::new(drive, memory))) })
}

/// Controllers switch the caches of drives off, which no battery protects.
fn off_if_volatile(profile: &Profile) -> Option<Switch> {
    match &profile.body {
        profile::Body::Ssd(ssd) if !ssd.reports_cache() => None,
        _ => Some(Switch::Off),
    }
}

fn memory_of(about: &crate::about::About, size: Bytes) -> Memory {
    let array = about.arrangement.as_ref();
    let drives = array.map_or(1, |it| it.drives);
    let data = array.and_then(|it| {
        let chunk = Sectors::holding(Bytes::new(it.chunk_bytes?)).get();
        let parities = match it.raid? {
            Level::Raid5 => 1,
            Level::Raid6 => 2,
            Level::Raid0 | Level::Raid1 | Level::Raid10 => return None,
        };
        Some(chunk * (it.drives as u64 - parities))
    });
    Memory {
        size: Sectors::holding(size),
        stripe: Sectors::new(data.unwrap_or(LONGEST)),
        writes: WRITES_EACH * drives,
    }
}
