//! One zone of a drive: its tracks, its spare sectors and the defects it steps over.

use drivelab_model::mechanics::Angle;

/// The part of a zone that has spares, and the destination of slipped sectors.
///
/// The schemes are those of `DiskSim` 4.0 (reference manual CMU-PDL-08-101, disk model parameters).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sparing {
    None,
    /// Whole tracks at the end of the zone.
    Tracks,
    /// Sectors at the end of every track.
    PerTrack,
    /// Sectors at the end of every cylinder.
    PerCylinder,
    /// Like `PerCylinder`, but a slip moves everything up to the end of the zone.
    PerCylinderSlipToEnd,
    /// Sectors at the front of every cylinder.
    PerCylinderAtFront,
    /// Like `PerCylinderAtFront`, but a slip moves everything up to the end of the zone.
    PerCylinderAtFrontSlipToEnd,
    /// Sectors at the end of the drive.
    AtEnd,
    /// Sectors at the end of each group of this many cylinders.
    PerRange(u32),
    /// Sectors at the end of the zone.
    PerZone,
}

impl Sparing {
    fn slips_to_end(self) -> bool {
        matches!(
            self,
            Self::PerCylinderSlipToEnd
                | Self::PerCylinderAtFrontSlipToEnd
                | Self::AtEnd
                | Self::PerZone
                | Self::Tracks
                | Self::None
        )
    }

    fn at_front(self) -> bool {
        matches!(self, Self::PerCylinderAtFront | Self::PerCylinderAtFrontSlipToEnd)
    }

    /// Returns true if a slip also moves the beginning of the following tracks.
    fn moves_skew(self) -> bool {
        matches!(
            self,
            Self::PerTrack
                | Self::PerCylinder
                | Self::PerCylinderSlipToEnd
                | Self::PerCylinderAtFront
                | Self::PerCylinderAtFrontSlipToEnd
        )
    }
}

/// The parameters of a zone; lengths in sectors, defects counted from the front of the zone.
#[derive(Debug, Clone)]
pub(crate) struct ZoneShape {
    pub(crate) first_cylinder: u32,
    pub(crate) cylinders: u32,
    pub(crate) per_track: u32,
    /// The angle of the first sector of the first track.
    pub(crate) origin: Angle,
    pub(crate) track_skew: Angle,
    pub(crate) cylinder_skew: Angle,
    /// Sectors at the front without user data.
    pub(crate) reserved: u64,
    pub(crate) spares: u64,
    pub(crate) sparing: Sparing,
    /// Defects that are skipped: sectors, or tracks if tracks are spared.
    pub(crate) slips: Vec<u64>,
    /// Defects and their spares.
    pub(crate) remapped: Vec<(u64, u64)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Zone {
    pub(crate) first: u64,
    pub(crate) end: u64,
    pub(crate) first_cylinder: u32,
    pub(crate) per_track: u64,
    pub(crate) sector: Angle,
    shape: ZoneShape,
    /// Physical sectors of a part with its own spares.
    part: u64,
    /// Number of those with data.
    usable: u64,
    /// The zone is one such part.
    whole: bool,
    /// The last physical sector, to which all overflow maps if a file lists more defects than
    /// spares.
    last: u64,
    /// For slips to the end: the usable index of each slip, minus the number of slips before it.
    thresholds: Vec<u64>,
}

impl Zone {
    /// Gives `shape` the addresses from `first` on; `None` if it has fewer sectors than its spares,
    /// reserves and slips need.
    pub(crate) fn new(first: u64, heads: u32, mut shape: ZoneShape) -> Option<Self> {
        let per_track = u64::from(shape.per_track);
        let per_cylinder = per_track * u64::from(heads);
        let cylinders = u64::from(shape.cylinders);
        let all = per_cylinder * cylinders;
        let part = match shape.sparing {
            Sparing::None | Sparing::PerZone | Sparing::Tracks => all,
            Sparing::PerTrack => per_track,
            Sparing::PerRange(range) => per_cylinder * u64::from(range),
            _ => per_cylinder,
        };
        let spares = match shape.sparing {
            Sparing::None => 0,
            Sparing::Tracks => shape.spares.checked_mul(per_track)?,
            _ => shape.spares,
        };
        let usable = part.checked_sub(spares).filter(|usable| *usable > 0)?;
        let lost_to_slips = match shape.sparing {
            Sparing::PerCylinderSlipToEnd
            | Sparing::PerCylinderAtFrontSlipToEnd
            | Sparing::AtEnd => shape.slips.len() as u64,
            _ => 0,
        };
        // A range that is cut off by the end of the zone has no spares.
        let data = all.checked_sub((all / part) * spares)?;
        let data = data.checked_sub(shape.reserved + lost_to_slips).filter(|data| *data > 0)?;
        shape.slips.sort_unstable();
        let units = if shape.sparing == Sparing::Tracks { per_track } else { 1 };
        let whole = matches!(shape.sparing, Sparing::None | Sparing::PerZone | Sparing::Tracks);
        let mut thresholds = Vec::with_capacity(shape.slips.len());
        for (before, slip) in (0..).zip(&shape.slips) {
            let sector = slip.saturating_mul(units);
            let usable_index =
                if whole { sector } else { (sector / part) * usable + (sector % part).min(usable) };
            thresholds.push(usable_index.saturating_sub(before * units));
        }
        Some(Self {
            first,
            end: first + data,
            first_cylinder: shape.first_cylinder,
            per_track,
            // Rounding down by less than 2^-64 of a revolution per sector changes no time by a
            // nanosecond.
            sector: u64::MAX / per_track,
            part,
            usable,
            whole,
            last: all - 1,
            thresholds,
            shape,
        })
    }

    pub(crate) fn last_cylinder(&self) -> u32 {
        self.first_cylinder + self.shape.cylinders - 1
    }

    /// The physical sector, counted from the front of the zone, of its `index`th address.
    pub(crate) fn physical(&self, index: u64) -> u64 {
        debug_assert!(index < self.end - self.first, "address {index} is beyond the zone");
        let sector = self.slipped(index + self.shape.reserved).min(self.last);
        if self.shape.remapped.is_empty() {
            return sector;
        }
        let unit = if self.shape.sparing == Sparing::Tracks { self.per_track } else { 1 };
        match self.shape.remapped.iter().find(|(bad, _)| *bad == sector / unit) {
            Some((_, spare)) => (spare.saturating_mul(unit) + sector % unit).min(self.last),
            None => sector,
        }
    }

    /// The physical sector after all slips, before remapping.
    fn slipped(&self, index: u64) -> u64 {
        let front = if self.shape.sparing.at_front() { self.part - self.usable } else { 0 };
        if self.shape.sparing.slips_to_end() {
            let slips = self.thresholds.partition_point(|threshold| *threshold <= index) as u64;
            let unit = if self.shape.sparing == Sparing::Tracks { self.per_track } else { 1 };
            let moved = index + slips * unit;
            if self.whole {
                return moved;
            }
            return (moved / self.usable) * self.part + moved % self.usable + front;
        }
        let (part, mut within) = (index / self.usable, index % self.usable);
        // Only the slips of this part count; each moves the rest of the part by one sector.
        let begin = part * self.part;
        let from = self.shape.slips.partition_point(|slip| *slip < begin);
        for slip in &self.shape.slips[from..] {
            if *slip > begin + within + front {
                break;
            }
            within += 1;
        }
        begin + within + front
    }

    /// Returns true if the `index`th address is on `track`, before remapping.
    fn is_on_track(&self, index: u64, track: u64) -> bool {
        self.slipped(index + self.shape.reserved) / self.per_track == track
    }

    /// The first address on the track that contains the `index`th address at `sector`, and the
    /// address after the last; remapped sectors count at their original position.
    pub(crate) fn track_bounds(&self, index: u64, track: u64, sector: u64) -> (u64, u64) {
        if !self.is_on_track(index, track) {
            return (index, index + 1);
        }
        let mut first = index.saturating_sub(sector);
        let mut end = (index + self.per_track - sector).min(self.end - self.first);
        if !self.shape.sparing.slips_to_end() {
            // No track reaches beyond a part with spares.
            let part = (index + self.shape.reserved) / self.usable;
            first = first.max((part * self.usable).saturating_sub(self.shape.reserved));
            end = end.min((part + 1) * self.usable - self.shape.reserved);
        }
        while first < index && !self.is_on_track(first, track) {
            // The estimates include spares and slips, which have no address: narrow them down.
            first += 1;
        }
        while end > index + 1 && !self.is_on_track(end - 1, track) {
            end -= 1;
        }
        debug_assert!(first <= index && index < end, "a track contains its own address");
        (first, end)
    }

    /// The angle of the first physical sector of a track.
    pub(crate) fn track_start(&self, cylinder: u64, head: u64, heads: u64) -> Angle {
        let switches = cylinder * (heads - 1) + head;
        let mut angle = self
            .shape
            .origin
            .wrapping_add(switches.wrapping_mul(self.shape.track_skew))
            .wrapping_add(cylinder.wrapping_mul(self.shape.cylinder_skew));
        if self.shape.sparing.moves_skew() && !self.shape.slips.is_empty() {
            let per_head = if self.shape.sparing == Sparing::PerTrack { head } else { 0 };
            let sectors_before = (cylinder * heads + per_head) * self.per_track;
            let slips = self.shape.slips.partition_point(|slip| *slip < sectors_before) as u64;
            angle = angle.wrapping_add(slips.wrapping_mul(self.sector));
        }
        angle
    }
}
