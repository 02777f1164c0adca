//! What of an array is safe when a member has put cached data on its medium.
//!
//! A member names its own sectors; here they become the array's. What counts is what the array
//! would give back after a power cut. RAID 1 is read from its first member until it is in sync
//! again (Linux, `drivers/md/raid1.c`: `choose_first_rdev` while a resync is due), so that a copy
//! on the others alone is not safe. RAID 5 works its parity out anew from the data, so that data is
//! safe with the member that holds it. The data of a failed member is what the parity makes of it,
//! and safe with that. Left out is what a cut does to a stripe of a degraded array, of which one
//! chunk is new and the parity is not: the write hole, for which md refuses to start such an array.

use drivelab_core::{Destaged, Lba, Sectors};

use super::layout::{Layout, index};
use super::level::Level;

/// Puts the records of the members, which lie in a row of `member` sectors each, into the array's
/// own sectors, from `from` on.
pub(super) fn translate(
    layout: &Layout,
    failed: Option<usize>,
    member: Sectors,
    records: &mut Vec<Destaged>,
    from: usize,
) {
    for record in records.split_off(from) {
        let place = index(record.lba.get() / member.get());
        let first = record.lba.get() % member.get();
        let mut piece = |lba, sectors| records.push(Destaged { lba, sectors, ..record });
        if layout.level == Level::Raid1 {
            if place == usize::from(failed == Some(0)) {
                piece(Lba::new(first), record.sectors);
            }
            continue;
        }
        // What lies beyond the last whole chunk is not used.
        let end = (first + record.sectors.get()).min(layout.rows * layout.chunk);
        let mut at = first;
        while at < end {
            let (row, within) = (at / layout.chunk, at % layout.chunk);
            let until = end.min((row + 1) * layout.chunk);
            if let Some(chunk) = safe(layout, failed, row, place) {
                let lba = (row * layout.data() + chunk) * layout.chunk + within;
                piece(Lba::new(lba), Sectors::new(until - at));
            }
            at = until;
        }
    }
}

/// The data chunk of `row` that is safe with what `member` holds of it.
fn safe(layout: &Layout, failed: Option<usize>, row: u64, member: usize) -> Option<u64> {
    let held = layout.held(row, member);
    match failed {
        Some(failed) if held.is_none() => layout.held(row, failed),
        _ => held,
    }
}
