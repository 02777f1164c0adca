//! From a profile and options to a drive that runs.

mod attach;
mod protected;
mod shelf;
mod single;
mod tier;

use crate::about::About;
use crate::drive::{Body, Drive, Shifted};
use crate::elevator::Scheduler;
use crate::error::BuildError;
use crate::options::Options;
use crate::profile::Profile;
use attach::HostSide;
pub use attach::SCSI_NR_REQUESTS;
use drivelab_core::{Bytes, Device as _, Sectors};

/// Builds the drive that `profile` describes, attached according to `options`; `seed` governs its
/// randomness, unless the options name a seed.
///
/// # Errors
/// Options that this drive cannot have.
pub fn build(profile: &Profile, options: &Options, seed: u64) -> Result<Drive, BuildError> {
    if let Some(scheduler) = options.scheduler.filter(|asked| !asked.is_modelled()) {
        return Err(BuildError::NotModelled(scheduler));
    }
    if let Some(offset) = options.offset {
        let whole = Options { offset: None, ..*options };
        return behind(build(profile, &whole, seed)?, offset);
    }
    if options.has_controller_cache() {
        return protected::build(profile, options, |own| build(profile, own, seed));
    }
    if let Some(tier) = options.tier {
        return tier::build(profile, tier, options, seed);
    }
    if let Some(key) = options.tier_option() {
        return Err(BuildError::NoTier(key));
    }
    if options.is_single_drive() {
        single::build(profile, options, seed)
    } else {
        shelf::build(profile, options, seed)
    }
}

/// Describes the drive behind a host whose elevator may be any of a real kernel's.
///
/// # Errors
/// Options that this drive cannot have.
pub fn describe(profile: &Profile, options: &Options, seed: u64) -> Result<About, BuildError> {
    let real = options.scheduler.filter(|asked| !asked.is_modelled());
    let Some(scheduler) = real else { return Ok(build(profile, options, seed)?.about) };
    // Of an elevator only its name is described; it sorts for one queue, as any other.
    let modelled = Options { scheduler: Some(Scheduler::Deadline), ..*options };
    let mut about = build(profile, &modelled, seed)?.about;
    if let Some(attached) = &mut about.attached {
        attached.scheduler = scheduler;
    }
    Ok(about)
}

/// Builds the drive for a real host: without an elevator, and for a single drive without the
/// register accesses of its controller, which the real controller adds.
///
/// # Errors
/// Options that this drive cannot have.
pub fn build_bare(profile: &Profile, options: &Options, seed: u64) -> Result<Drive, BuildError> {
    if let Some(offset) = options.offset {
        let whole = Options { offset: None, ..*options };
        return behind(build_bare(profile, &whole, seed)?, offset);
    }
    if options.has_controller_cache() {
        return protected::build(profile, options, |own| build_bare(profile, own, seed));
    }
    // A drive without an attachment has no elevator to leave out.
    let none = profile.is_attached().then_some(Scheduler::None);
    let options = Options { scheduler: none.or(options.scheduler), ..*options };
    if options.tier.is_none() && options.tier_option().is_none() && options.is_single_drive() {
        single::on_host(profile, &options, seed, HostSide::Real)
    } else {
        build(profile, &options, seed)
    }
}

/// The part of `drive` behind `offset`.
fn behind(drive: Drive, offset: Bytes) -> Result<Drive, BuildError> {
    let first = Sectors::holding(offset);
    if first >= drive.capacity() {
        return Err(BuildError::BehindTheEnd { model: drive.about().model.clone(), offset });
    }
    let mut about = drive.about().clone();
    about.capacity_bytes -= first.bytes().get();
    Ok(Drive { about, body: Body::Shifted(Box::new(Shifted::new(drive, first))) })
}
