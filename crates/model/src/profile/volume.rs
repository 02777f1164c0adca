//! Conversion of a volume's profile keys to checked parts.

use drivelab_core::{Bytes, Invalid, Sectors, Span, invalid};

use super::raw::{Raw, required};
use crate::drive::{Limit, VolumeParts};

/// The largest request that counts as one, by default: 256 KiB, as on volumes of Amazon EBS.
const IO: Sectors = Sectors::new(512);

pub(super) fn assemble(raw: &Raw) -> Result<VolumeParts, Invalid> {
    let capacity = required(raw.capacity_bytes, "capacity_bytes")?.0;
    let burst_iops = raw.burst_iops.map(|count| u64::from(count.0));
    let credits = raw.burst_credits.map(|count| u64::from(count.0));
    let ios = limit(iops(raw, capacity)?, [burst_iops, credits], "iops", "burst_credits")?;
    let bytes = match bytes_per_s(raw, capacity)? {
        None if raw.burst_bytes_per_s.is_some() => {
            return Err("`burst_bytes_per_s` needs `bytes_per_s`".into());
        }
        None => None,
        Some(base) => {
            let burst = [raw.burst_bytes_per_s, raw.burst_bytes];
            let burst = burst.map(|bytes| bytes.map(|bytes| bytes.0.get()));
            Some(limit(base, burst, "bytes_per_s", "burst_bytes")?)
        }
    };
    let io = raw.io_bytes.map_or(IO, |bytes| bytes.0);
    if io == Sectors::ZERO {
        return Err("`io_bytes` is less than a sector".into());
    }
    Ok(VolumeParts {
        capacity,
        latency: required(raw.latency, "latency")?.0,
        ios,
        bytes,
        io,
        first_touch: raw.first_touch.map(|span| span.0).filter(|span| *span > Span::ZERO),
    })
}

/// The bytes a second of a volume of this size.
fn bytes_per_s(raw: &Raw, capacity: Sectors) -> Result<Option<u64>, Invalid> {
    match (raw.large_gib, raw.large_bytes_per_s) {
        (Some(gib), Some(rate)) if capacity.bytes() > Bytes::gib(u64::from(gib.0)) => {
            Ok(Some(rate.0.get()))
        }
        (Some(_), None) | (None, Some(_)) => {
            Err("`large_gib` and `large_bytes_per_s` need each other".into())
        }
        _ => Ok(raw.bytes_per_s.map(|rate| rate.0.get())),
    }
}

/// The requests a second of a volume of this size.
fn iops(raw: &Raw, capacity: Sectors) -> Result<u64, Invalid> {
    match (raw.iops, raw.iops_per_gib) {
        (Some(iops), None) => Ok(u64::from(iops.0)),
        (None, Some(each)) => {
            // Whole requests: a part of a GiB earns its part, rounded down.
            let all = (u128::from(capacity.bytes().get()) * u128::from(each.0)) >> 30;
            let least = raw.iops_min.map_or(1, |count| u128::from(count.0));
            let most = raw.iops_max.map_or(10_000_000, |count| u128::from(count.0));
            if least > most {
                return Err("`iops_min` is above `iops_max`".into());
            }
            Ok(u64::try_from(all.clamp(least, most)).expect("within the limits"))
        }
        (Some(_), Some(_)) => Err("`iops` and `iops_per_gib` exclude each other".into()),
        (None, None) => Err("`iops` is missing; add a line `iops = ...`".into()),
    }
}

fn limit(
    base: u64,
    burst: [Option<u64>; 2],
    key: &str,
    credits_key: &str,
) -> Result<Limit, Invalid> {
    if base == 0 {
        return Err(invalid!("`{key}` is zero"));
    }
    match burst {
        [Some(rate), Some(credits)] if rate > base => {
            Ok(Limit { base, burst: Some([rate, credits]) })
        }
        // Nothing is gained: a large volume is always as fast as its burst.
        [None, None] | [Some(_), Some(_)] => Ok(Limit { base, burst: None }),
        _ => Err(invalid!("`burst_{key}` and `{credits_key}` need each other")),
    }
}
