//! A fast drive before a slow one.

use drivelab_core::Rng;
use drivelab_core::units::Bytes;

use super::error::BuildError;
use super::shelf;
use super::single::one;
use crate::about::ModelledTier;
use crate::drive::{Body, Drive};
use crate::options::{Options, Switch, Tier, TierKind};
use crate::profile::{self, Profile};
use crate::tier::{Swapcache, Tiered, Writeback};

/// Memory before a swapcache where nothing else is asked for.
const PAGE_CACHE: u64 = 1 << 30;
const PAGE: u64 = 4096;

/// The drive of `profile` behind `tier`.
pub(super) fn put(
    profile: &Profile,
    tier: Tier,
    options: &Options,
    seed: u64,
) -> Result<Drive, BuildError> {
    let fast_profile = Profile::embedded(tier.drive).expect("the option was checked");
    let own = options.behind_tier();
    let (slow, fast) =
        (of_each(profile, &fast_profile, &own), of_each(&fast_profile, profile, &own));
    if options.page_cache.is_some() && tier.kind != TierKind::Swapcache {
        return Err(BuildError::Shelf("`page-cache` needs `tier=swapcache:NAME`"));
    }
    let seed = options.seed.unwrap_or(seed);
    let slow = if slow.is_of_one() {
        one(profile, &slow, seed)?
    } else {
        shelf::put(profile, &slow, seed)?
    };
    let fast = one(&fast_profile, &on_same_host(&fast), Rng::for_part(seed, 1).bits())?;
    let bytes = options.page_cache.map_or(PAGE_CACHE, Bytes::get);
    let warm = options.tier_warm == Some(Switch::On);
    let about = ModelledTier {
        kind: tier.kind,
        page_cache_bytes: (tier.kind == TierKind::Swapcache).then_some(bytes),
        warm,
        drive: fast.about().clone(),
    };
    let mut whole = slow.about().clone();
    whole.tier = Some(Box::new(about));
    let body = match tier.kind {
        TierKind::Swapcache => {
            let pages = u32::try_from(bytes / PAGE).expect("the option was checked");
            let mut made = Swapcache::new(slow, fast, pages);
            if warm {
                made.warm();
            }
            Body::Swapcache(Box::new(Tiered(made)))
        }
        TierKind::Writeback => {
            let mut made = Writeback::new(slow, fast);
            if warm {
                made.warm();
            }
            Body::Writeback(Box::new(Tiered(made)))
        }
    };
    Ok(Drive { about: whole, body })
}

/// The options of the drive of `profile` beside `other`: what only flash has is the other's where
/// that alone has flash.
fn of_each(profile: &Profile, other: &Profile, options: &Options) -> Options {
    let flash = |of: &Profile| matches!(of.body, profile::Body::Ssd(_));
    if flash(profile) || !flash(other) {
        return *options;
    }
    Options { scale: None, precondition: None, spare: None, trimmed: None, ..*options }
}

/// The options of the fast drive: what belongs to the host is the same for both.
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
