//! A fast drive in front of a slow one, after two kernels.
//!
//! Rules, sources and omissions: `docs/internals/tiers.md`.

mod between;
mod host;
mod kind;
mod lists;
mod pair;
mod swapcache;
mod writeback;

pub(crate) use between::Tiered;
pub use kind::TierKind;
pub(crate) use swapcache::Swapcache;
pub(crate) use writeback::Writeback;

use std::ops::Range;

use drivelab_core::{Lba, Request, Sectors};

/// Sectors of a unit, 4 KiB: a page of memory, and the block size of `make-bcache --block 4k`.
const UNIT: u64 = 8;

/// The units that a request touches.
fn units(request: &Request) -> Range<u64> {
    request.lba.get() / UNIT..request.end().get().div_ceil(UNIT)
}

/// The sectors of `units`.
fn sectors_of(units: &Range<u64>) -> (Lba, Sectors) {
    debug_assert!(units.start <= units.end, "a range that ends before it begins");
    (Lba::new(units.start * UNIT), Sectors::new((units.end - units.start) * UNIT))
}

/// Appends a number to runs of consecutive numbers.
fn extend(runs: &mut Vec<Range<u64>>, number: u64) {
    match runs.last_mut() {
        Some(run) if run.end == number => run.end += 1,
        _ => runs.push(number..number + 1),
    }
}

#[cfg(test)]
mod tests;
