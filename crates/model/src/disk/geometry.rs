//! The layout of sectors: zone, cylinder, head and angle.

use drivelab_core::{Lba, Sectors};

use crate::spindle::Angle;

/// A band of cylinders with the same number of sectors on every track.
#[derive(Debug, Clone)]
pub(crate) struct Zone {
    pub(crate) first: u64,
    pub(crate) end: u64,
    pub(crate) first_cylinder: u32,
    pub(crate) per_track: u64,
    /// Angle of the first sector of its first track.
    origin: Angle,
    /// The width of one sector.
    pub(crate) sector: Angle,
    /// Offset of the first sector from one head to the next.
    track_skew: Angle,
    /// Offset from the last head of a cylinder to the first of the next.
    cylinder_skew: Angle,
}

impl Zone {
    fn track_start(&self, cylinder: u64, head: u64, heads: u64) -> Angle {
        // Within a cylinder the heads switch `heads - 1` times; the next cylinder is reached by its
        // separate skew. Overflow drops whole revolutions.
        let switches = cylinder * (heads - 1) + head;
        self.origin
            .wrapping_add(switches.wrapping_mul(self.track_skew))
            .wrapping_add(cylinder.wrapping_mul(self.cylinder_skew))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ZoneShape {
    pub(crate) cylinders: u32,
    pub(crate) per_track: u32,
    /// In sectors of this zone.
    pub(crate) track_skew: u32,
    /// In sectors of this zone.
    pub(crate) cylinder_skew: u32,
}

/// Position of the heads: one arm, one head in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Arm {
    /// Counted from the outer edge.
    pub cylinder: u32,
    /// The head in use.
    pub head: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    pub(crate) arm: Arm,
    /// The angle at which its first bit passes the head.
    pub(crate) angle: Angle,
    /// Sectors up to the end of the track, including this one.
    pub(crate) left_on_track: u64,
    /// The width of one sector on this track.
    pub(crate) sector: Angle,
}

impl Location {
    /// The location `sectors` further; `None` beyond the end of this track.
    #[inline]
    pub(crate) fn after(self, sectors: u64) -> Option<Self> {
        let left_on_track = self.left_on_track.checked_sub(sectors).filter(|left| *left > 0)?;
        let angle = self.angle.wrapping_add(sectors.wrapping_mul(self.sector));
        Some(Self { angle, left_on_track, ..self })
    }
}

/// The layout of a whole drive: cylinder by cylinder from the outside in, head by head.
#[derive(Debug, Clone)]
pub(crate) struct Geometry {
    zones: Vec<Zone>,
    heads: u64,
    capacity: u64,
    /// Sectors in front of the first address, which have those behind the last one.
    reserved: u64,
}

impl Geometry {
    /// Lays out the zones of `shapes`; the caller has checked that they hold `capacity`.
    pub(crate) fn new(heads: u32, capacity: Sectors, shapes: &[ZoneShape]) -> Self {
        let heads = u64::from(heads);
        let mut zones: Vec<Zone> = Vec::with_capacity(shapes.len());
        let (mut first, mut first_cylinder, mut origin) = (0, 0, 0);
        for shape in shapes {
            let per_track = u64::from(shape.per_track);
            // Rounding down by less than 2^-64 of a revolution per sector moves nothing by a
            // nanosecond.
            let sector = u64::MAX / per_track;
            let zone = Zone {
                first,
                end: first + u64::from(shape.cylinders) * heads * per_track,
                first_cylinder,
                per_track,
                origin,
                sector,
                track_skew: sector.wrapping_mul(u64::from(shape.track_skew)),
                cylinder_skew: sector.wrapping_mul(u64::from(shape.cylinder_skew)),
            };
            first = zone.end;
            first_cylinder += shape.cylinders;
            // The next zone begins where a stream out of this one arrives after a cylinder switch.
            origin = zone.track_start(u64::from(shape.cylinders), 0, heads);
            zones.push(zone);
        }
        debug_assert!(first >= capacity.get(), "the zones hold {first} sectors of {capacity}");
        Self { zones, heads, capacity: capacity.get(), reserved: 0 }
    }

    /// Keeps `reserved` sectors at the outer edge for the drive itself; their addresses begin
    /// where those of the host end.
    pub(crate) fn reserving(self, reserved: Sectors) -> Self {
        let reserved = reserved.get();
        let held = self.zones.last().map_or(0, |zone| zone.end);
        debug_assert!(self.capacity + reserved <= held, "the zones have no room for it");
        Self { reserved, ..self }
    }

    /// The position of a sector, counted from the outer edge.
    #[inline]
    fn physical(&self, lba: u64) -> u64 {
        if self.reserved == 0 {
            return lba;
        }
        debug_assert!(lba < self.capacity + self.reserved, "{lba} is beyond the end");
        if lba < self.capacity { lba + self.reserved } else { lba - self.capacity }
    }

    pub(crate) fn capacity(&self) -> Sectors {
        Sectors::new(self.capacity)
    }

    pub(crate) fn end(&self) -> Lba {
        Lba::new(self.capacity)
    }

    /// The zones, from the outside in.
    pub(crate) fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// Cylinders that hold addressable sectors.
    pub(crate) fn cylinders(&self) -> u32 {
        self.locate(Lba::new(self.capacity - 1)).arm.cylinder + 1
    }

    /// Locates the sector `lba`, which is below the capacity.
    #[inline]
    pub(crate) fn locate(&self, lba: Lba) -> Location {
        debug_assert!(
            lba.get() < self.zones.last().map_or(0, |zone| zone.end),
            "{lba} is beyond the end"
        );
        let from_edge = self.physical(lba.get());
        let zone = self.zone_of(from_edge);
        let offset = from_edge - zone.first;
        let (track, sector) = (offset / zone.per_track, offset % zone.per_track);
        let (cylinder, head) = (track / self.heads, track % self.heads);
        let start = zone.track_start(cylinder, head, self.heads);
        Location {
            arm: Arm { cylinder: zone.first_cylinder + narrow(cylinder), head: narrow(head) },
            angle: start.wrapping_add(sector.wrapping_mul(zone.sector)),
            left_on_track: zone.per_track - sector,
            sector: zone.sector,
        }
    }

    #[inline]
    fn zone_of(&self, lba: u64) -> &Zone {
        let index = self.zones.partition_point(|zone| zone.end <= lba);
        &self.zones[index]
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "profiles hold at most 2^22 cylinders")]
fn narrow(number: u64) -> u32 {
    debug_assert!(u32::try_from(number).is_ok());
    number as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_zones() -> Geometry {
        let zone = |cylinders, per_track| ZoneShape {
            cylinders,
            per_track,
            track_skew: per_track / 8,
            cylinder_skew: per_track / 4,
        };
        Geometry::new(2, Sectors::new(2 * 3 * 64 + 2 * 5 * 32), &[zone(3, 64), zone(5, 32)])
    }

    fn eighths(angle: Angle) -> u64 {
        (angle.wrapping_add(1 << 50) >> 61) % 8
    }

    #[test]
    fn sectors_lie_cylinder_by_cylinder_and_head_by_head() {
        let geometry = two_zones();
        let check = |lba, cylinder, head, left| {
            let place = geometry.locate(Lba::new(lba));
            assert_eq!(place.arm, Arm { cylinder, head });
            assert_eq!(place.left_on_track, left);
        };
        check(0, 0, 0, 64);
        check(63, 0, 0, 1);
        check(64, 0, 1, 64);
        check(128, 1, 0, 64);
        check(384, 3, 0, 32);
        check(703, 7, 1, 1);
        assert_eq!(geometry.cylinders(), 8);
    }

    #[test]
    fn each_track_starts_one_skew_later_across_zones_too() {
        let geometry = two_zones();
        let starts: Vec<u64> = [0, 64, 128, 192, 256, 320, 384, 416, 448]
            .map(|lba| eighths(geometry.locate(Lba::new(lba)).angle))
            .into();
        assert_eq!(starts, [0, 1, 3, 4, 6, 7, 1, 2, 4]);
    }
}
