//! The position of a sector on a drive whose defects, spares and skews are known individually.

use drivelab_model::mechanics::{Angle, Arm};

use super::zone::Zone;

/// The order of the heads within a cylinder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heads {
    /// Always from the first head to the last.
    Rising,
    /// Alternating: odd cylinders of a zone run from the last head to the first, so a cylinder
    /// switch stays on its surface.
    SerpentineInZone,
    /// Like `SerpentineInZone`, counted over the whole drive.
    SerpentineOverall,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) arm: Arm,
    /// The angle at which its first bit passes the head.
    pub(crate) angle: Angle,
    /// The width of one sector here.
    pub(crate) sector: Angle,
    /// The first address on the same track.
    pub(crate) track_first: u64,
    /// The address after the last one on the same track.
    pub(crate) track_end: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Layout {
    zones: Vec<Zone>,
    heads: u32,
    order: Heads,
    capacity: u64,
}

impl Layout {
    pub(crate) fn new(zones: Vec<Zone>, heads: u32, order: Heads) -> Self {
        let capacity = zones.last().map_or(0, |zone| zone.end);
        debug_assert!(
            zones.is_sorted_by(|one, next| one.end == next.first),
            "the addresses of zones are contiguous"
        );
        Self { zones, heads, order, capacity }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Cylinders up to the last that holds data.
    pub(crate) fn cylinders(&self) -> u32 {
        self.zones.last().map_or(0, |zone| zone.last_cylinder() + 1)
    }

    /// The position of the sector `lba`, which is below the capacity.
    pub(crate) fn spot(&self, lba: u64) -> Spot {
        debug_assert!(lba < self.capacity, "{lba} is beyond the end");
        let zone = &self.zones[self.zones.partition_point(|zone| zone.end <= lba)];
        let physical = zone.physical(lba - zone.first);
        let (track, sector) = (physical / zone.per_track, physical % zone.per_track);
        let heads = u64::from(self.heads);
        // Addresses fill a cylinder before the next, so the heads change faster.
        let (cylinder, logical_head) = (track / heads, track % heads);
        let cylinder_number = zone.first_cylinder + narrow(cylinder);
        let turned = match self.order {
            Heads::Rising => false,
            Heads::SerpentineInZone => cylinder % 2 == 1,
            Heads::SerpentineOverall => cylinder_number % 2 == 1,
        };
        let head = if turned { heads - 1 - logical_head } else { logical_head };
        let start = zone.track_start(cylinder, logical_head, heads);
        let (track_first, track_end) = zone.track_bounds(lba - zone.first, track, sector);
        Spot {
            arm: Arm { cylinder: cylinder_number, head: narrow(head) },
            angle: start.wrapping_add(sector.wrapping_mul(zone.sector)),
            sector: zone.sector,
            track_first: zone.first + track_first,
            track_end: zone.first + track_end,
        }
    }

    /// Sectors per track of the zone that contains `lba`.
    pub(crate) fn per_track(&self, lba: u64) -> u64 {
        let index = self.zones.partition_point(|zone| zone.end <= lba);
        self.zones[index.min(self.zones.len() - 1)].per_track
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the reader limits cylinders to 2^22")]
fn narrow(number: u64) -> u32 {
    debug_assert!(u32::try_from(number).is_ok());
    number as u32
}
