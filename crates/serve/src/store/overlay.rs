//! The extents of the medium with the data that is still in the cache.

use drivelab_core::Sectors;
use drivelab_core::disk::Extent;

/// Returns the extents of `below`, which begin at sector `first`, with the ascending `cached`
/// sectors as data.
pub(super) fn overlay(below: &[Extent], first: u64, cached: &[u64]) -> Vec<Extent> {
    debug_assert!(cached.is_sorted(), "the caller sorts them");
    let (mut extents, mut at) = (Vec::new(), first);
    for extent in below {
        let end = at + extent.sectors.get();
        if !extent.hole {
            push(&mut extents, end - at, false);
            at = end;
            continue;
        }
        // Only holes need the cache: cached sectors above data are data anyway.
        let within = cached.partition_point(|sector| *sector < at)
            ..cached.partition_point(|sector| *sector < end);
        for sector in &cached[within] {
            if at < *sector {
                push(&mut extents, sector - at, true);
            }
            push(&mut extents, 1, false);
            at = sector + 1;
        }
        if at < end {
            push(&mut extents, end - at, true);
            at = end;
        }
    }
    extents
}

fn push(extents: &mut Vec<Extent>, sectors: u64, hole: bool) {
    Extent { sectors: Sectors::new(sectors), hole }.push_to(extents);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(below: &[(u64, bool)], cached: &[u64], expected: &[(u64, bool)]) {
        let extents = |stretches: &[(u64, bool)]| -> Vec<Extent> {
            let extent = |(sectors, hole)| Extent { sectors: Sectors::new(sectors), hole };
            stretches.iter().copied().map(extent).collect()
        };
        assert_eq!(overlay(&extents(below), 100, cached), extents(expected), "{cached:?}");
    }

    #[test]
    fn cached_data_is_told_from_the_holes_around_it() {
        let (hole, data) = (true, false);
        check(&[(50, hole)], &[], &[(50, hole)]);
        check(&[(50, hole)], &[100, 101, 149], &[(2, data), (47, hole), (1, data)]);
        check(&[(50, hole)], &[99, 110, 150], &[(10, hole), (1, data), (39, hole)]);
        check(
            &[(10, hole), (20, data), (5, hole)],
            &[109, 115, 130],
            &[(9, hole), (22, data), (4, hole)],
        );
    }
}
