//! Assembly of a fast drive in front of a slow one.

use drivelab_core::Rng;
use drivelab_core::units::Bytes;

use super::{shelf, single};
use crate::about::ModelledTier;
use crate::drive::{Body, Drive};
use crate::error::BuildError;
use crate::options::{Options, Switch, Tier, TierKind};
use crate::profile::{self, Profile};
use crate::tier::{Swapcache, Tiered, Writeback};

/// Default page cache of a swapcache, in bytes.
// Our choice: a small machine of its time.
const PAGE_CACHE: u64 = 1 << 30;
const PAGE: u64 = 4096;

/// Builds the drive of `profile` behind `tier`.
pub(super) fn build(
    profile: &Profile,
    tier: Tier,
    options: &Options,
    seed: u64,
) -> Result<Drive, BuildError> {
    let fast_profile = Profile::embedded(tier.drive).expect("the option was checked");
    let own = options.behind_tier();
    let slow_options = applicable(profile, &fast_profile, &own);
    let fast_options = on_same_host(&applicable(&fast_profile, profile, &own));
    if options.page_cache.is_some() && tier.kind != TierKind::Swapcache {
        return Err(BuildError::Shelf("`page-cache` needs `tier=swapcache:NAME`"));
    }
    let seed = options.seed.unwrap_or(seed);
    let slow = if slow_options.is_single_drive() {
        single::build(profile, &slow_options, seed)?
    } else {
        shelf::build(profile, &slow_options, seed)?
    };
    // Another stream of random numbers, so that the two drives do not err together.
    let fast = single::build(&fast_profile, &fast_options, Rng::for_part(seed, 1).bits())?;
    let bytes = options.page_cache.map_or(PAGE_CACHE, Bytes::get);
    let warm = options.tier_warm == Some(Switch::On);
    let about = ModelledTier {
        kind: tier.kind,
        page_cache_bytes: (tier.kind == TierKind::Swapcache).then_some(bytes),
        warm,
        drive: fast.about().clone(),
    };
    // The slow drive names the device; the tier is an attribute of it.
    let mut whole = slow.about().clone();
    whole.tier = Some(Box::new(about));
    let body = match tier.kind {
        TierKind::Swapcache => {
            let pages = u32::try_from(bytes / PAGE).expect("the option was checked");
            let mut swapcache = Swapcache::new(slow, fast, pages);
            if warm {
                swapcache.warm();
            }
            Body::Swapcache(Box::new(Tiered(swapcache)))
        }
        TierKind::Writeback => {
            let mut writeback = Writeback::new(slow, fast);
            if warm {
                writeback.warm();
            }
            Body::Writeback(Box::new(Tiered(writeback)))
        }
    };
    Ok(Drive { about: whole, body })
}

/// Returns the options that apply to the drive of `profile`: flash options go to `other` if that
/// alone has flash.
fn applicable(profile: &Profile, other: &Profile, options: &Options) -> Options {
    if has_flash(profile) || !has_flash(other) {
        return *options;
    }
    Options { scale: None, precondition: None, spare: None, trimmed: None, ..*options }
}

fn has_flash(profile: &Profile) -> bool {
    matches!(profile.body, profile::Body::Ssd(_))
}

/// Returns the options of the fast drive: those of the host are the same for both.
fn on_same_host(options: &Options) -> Options {
    Options {
        tags: options.tags,
        dispatch: options.dispatch,
        scheduler: options.scheduler,
        nr_requests: options.nr_requests,
        scale: options.scale,
        precondition: options.precondition,
        spare: options.spare,
        trimmed: options.trimmed,
        ..Options::default()
    }
}
