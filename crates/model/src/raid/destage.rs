//! Durability of an array's data after a member has destaged.
//!
//! The records of a member name sectors of that member; here they become sectors of the array.
//! Data is durable if the array would return it after a power cut. RAID 1 is read from its first
//! member until it is in sync
//! again (Linux, `drivers/md/raid1.c`: `choose_first_rdev` while a resync is due), so a copy
//! on the others alone is not durable. RAID 5 recomputes its parity from the data, so data is
//! durable with the member that holds it; RAID 6 likewise. Data of a failed member is reconstructed
//! from the (first) parity, and durable with that. A RAID 10 is read from the first copy of a
//! chunk, as RAID 1 from its first member.
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
                let lba = Lba::new(chunk * layout.chunk + within);
                records.push(Destaged { lba, sectors: Sectors::new(until - at), ..record });
            }
            at = until;
        }
    }
}

/// Returns the chunk of the array that becomes durable with that of `row` on `member`.
fn durable_chunk(layout: &Layout, failed: Option<usize>, row: u64, member: usize) -> Option<u64> {
    if layout.level == Level::Raid10 {
        let (chunk, copy) = layout.copied(row, member);
        // The other copy is the first where the member of this one has failed.
        let first = u64::from(failed == Some(layout.copy(chunk, 0).0));
        let within = chunk < layout.capacity().get() / layout.chunk;
        return (copy == first && within).then_some(chunk);
    }
    let held = match failed {
        Some(failed) if layout.level.has_parity() && layout.parity(row) == member => {
            layout.held(row, failed)
        }
        _ => layout.held(row, member),
    };
    held.map(|chunk| row * layout.data() + chunk)
}
