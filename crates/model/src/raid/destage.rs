//! Durability of an array's data after a member has destaged.
//!
//! The records of a member name sectors of that member; here they become sectors of the array.
//! Data is durable if the array would return it after a power cut. RAID 1 is read from its first
//! member until it is in sync
//! again (Linux, `drivers/md/raid1.c`: `choose_first_rdev` while a resync is due), so a copy
//! on the others alone is not durable. RAID 5 recomputes its parity from the data, so data is
//! durable with the member that holds it. Data of a failed member is reconstructed from the
//! parity, and durable with that.
//!
//! Not modelled: a cut between data and parity of a stripe in a degraded array (the write hole),
//! for which md refuses to start such an array.

use drivelab_core::{Destaged, Lba, Sectors};

use super::layout::{Layout, index};
use super::level::Level;

/// Translates the records from index `from`, which address consecutive members of `member` sectors
/// each, into sectors of the array.
pub(super) fn translate(
    layout: &Layout,
    failed: Option<usize>,
    member: Sectors,
    records: &mut Vec<Destaged>,
    from: usize,
) {
    for record in records.split_off(from) {
        let holder = index(record.lba.get() / member.get());
        let first = record.lba.get() % member.get();
        debug_assert!(first + record.sectors.get() <= member.get(), "a record stays on its member");
        if layout.level == Level::Raid1 {
            // The first member that has not failed is the one that a resync copies from.
            if holder == usize::from(failed == Some(0)) {
                records.push(Destaged { lba: Lba::new(first), ..record });
            }
            continue;
        }
        // The remainder beyond the last whole chunk is unused.
        let end = (first + record.sectors.get()).min(layout.rows * layout.chunk);
        let mut at = first;
        while at < end {
            let (row, within) = (at / layout.chunk, at % layout.chunk);
            let until = end.min((row + 1) * layout.chunk);
            if let Some(chunk) = durable_chunk(layout, failed, row, holder) {
                let lba = Lba::new((row * layout.data() + chunk) * layout.chunk + within);
                records.push(Destaged { lba, sectors: Sectors::new(until - at), ..record });
            }
            at = until;
        }
    }
}

/// Returns the data chunk of `row` that becomes durable with the chunk on `member`.
fn durable_chunk(layout: &Layout, failed: Option<usize>, row: u64, member: usize) -> Option<u64> {
    let held = layout.held(row, member);
    match failed {
        Some(failed) if held.is_none() => layout.held(row, failed),
        _ => held,
    }
}
