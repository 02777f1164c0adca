//! The platter worked out a second time, from the same profile and by other arithmetic.

use drivelab_core::Time;
use drivelab_core::numbers::float;

/// A zone: cylinders, sectors per track, and the skews in sectors.
#[derive(Debug, Clone)]
pub(crate) struct Zone {
    pub(crate) cylinders: u64,
    pub(crate) per_track: u64,
    pub(crate) track_skew: u64,
    pub(crate) cylinder_skew: u64,
}

/// Geometry, spindle and arm; times in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Surface {
    pub(crate) zones: Vec<Zone>,
    pub(crate) heads: u64,
    pub(crate) milli_rpm: u64,
    pub(crate) seek_points: Vec<(u64, u64)>,
    pub(crate) head_switch: u64,
    pub(crate) write_settle: u64,
}

/// A track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Track {
    pub(crate) cylinder: u64,
    pub(crate) head: u64,
}

/// Where a sector lies; `turn` is the angle at which it begins, in revolutions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot {
    pub(crate) track: Track,
    pub(crate) turn: f64,
    /// Sectors on its track.
    per_track: u64,
    /// Sectors from here to the end of the track.
    left: u64,
    /// Sectors skipped on the way to the next track.
    skew: u64,
}

impl Surface {
    /// Nanoseconds a revolution.
    pub(crate) fn period(&self) -> f64 {
        6e13 / float(self.milli_rpm)
    }

    pub(crate) fn spot(&self, lba: u64) -> Spot {
        let (mut first, mut first_cylinder, mut origin) = (0, 0, 0.0);
        for zone in &self.zones {
            let per_cylinder = zone.per_track * self.heads;
            let skew_per_cylinder = zone.track_skew * (self.heads - 1) + zone.cylinder_skew;
            if lba - first < zone.cylinders * per_cylinder {
                let (cylinder, rest) = ((lba - first) / per_cylinder, (lba - first) % per_cylinder);
                let (head, sector) = (rest / zone.per_track, rest % zone.per_track);
                let turned = cylinder * skew_per_cylinder + head * zone.track_skew + sector;
                let last_head = head + 1 == self.heads;
                return Spot {
                    track: Track { cylinder: first_cylinder + cylinder, head },
                    turn: whole(origin + float(turned % zone.per_track) / float(zone.per_track)),
                    per_track: zone.per_track,
                    left: zone.per_track - sector,
                    skew: if last_head { zone.cylinder_skew } else { zone.track_skew },
                };
            }
            first += zone.cylinders * per_cylinder;
            first_cylinder += zone.cylinders;
            let turned = zone.cylinders * skew_per_cylinder % zone.per_track;
            origin = whole(origin + float(turned) / float(zone.per_track));
        }
        panic!("sector {lba} lies beyond the last zone")
    }

    /// The angle at the end of the sector `lba`.
    pub(crate) fn end_of(&self, lba: u64) -> f64 {
        let spot = self.spot(lba);
        whole(spot.turn + 1.0 / float(spot.per_track))
    }

    /// How long `sectors` from `lba` on take to pass, with the switches between tracks; and how
    /// many switches there are.
    pub(crate) fn passing(&self, mut lba: u64, mut sectors: u64) -> (f64, u64) {
        let (mut turns, mut switches) = (0.0, 0);
        loop {
            let spot = self.spot(lba);
            let piece = sectors.min(spot.left);
            turns += float(piece) / float(spot.per_track);
            sectors -= piece;
            lba += piece;
            if sectors == 0 {
                return (turns * self.period(), switches);
            }
            turns += float(spot.skew) / float(spot.per_track);
            switches += 1;
        }
    }

    /// How far the platter is from `turn` at `at`, in ns, from minus to plus half a revolution.
    pub(crate) fn off(&self, at: Time, turn: f64) -> f64 {
        const MINUTE: u128 = 60_000_000_000_000;
        let part = u128::from(at.ns()) * u128::from(self.milli_rpm) % MINUTE;
        let now = float(u64::try_from(part).expect("below 2^46")) / 6e13;
        (whole(now - turn + 0.5) - 0.5) * self.period()
    }

    /// How long arm and head take from one track to another.
    pub(crate) fn reach(&self, from: Track, to: Track, write: bool) -> f64 {
        if from == to {
            return 0.0;
        }
        let seek = match from.cylinder.abs_diff(to.cylinder) {
            0 => 0.0,
            distance => self.seek(distance),
        };
        let switch = if from.head == to.head { 0.0 } else { float(self.head_switch) };
        seek.max(switch) + if write { float(self.write_settle) } else { 0.0 }
    }

    /// The longest that arm and head may take.
    pub(crate) fn longest_reach(&self) -> f64 {
        let last = self.seek_points.last().expect("a curve has points").1;
        float(last.max(self.head_switch) + self.write_settle)
    }

    fn seek(&self, distance: u64) -> f64 {
        let pairs = self.seek_points.windows(2);
        let pair = pairs.clone().find(|pair| distance <= pair[1].0).or_else(|| pairs.last());
        let pair = pair.expect("a curve has two points");
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        let share = (float(distance) - float(x0)) / float(x1 - x0);
        float(y0) + (float(y1) - float(y0)) * share
    }
}

/// The part of a revolution that is left when whole ones are taken off.
fn whole(turns: f64) -> f64 {
    turns.rem_euclid(1.0)
}
