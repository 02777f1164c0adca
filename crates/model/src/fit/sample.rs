//! Random reads at depth 1 without a drive: what the search compares, thousands of times.
//!
//! One request after the other, a read is overhead, seek, a wait that is uniform over a revolution,
//! and the transfer. Distances come from the geometry of the profile. The profile that is found is
//! then simulated as a whole drive, and its figures are those that are shown.

use drivelab_core::Lba;

use super::curve::Curve;
use super::measurements::{Figures, QUANTILES};
use crate::disk::geometry::Geometry;

/// Accesses in the sample.
const ACCESSES: u32 = 8_192;

/// Milliseconds of a read that the buffer answers.
const HIT_MS: f64 = 0.06;

/// Distances and waits that fill their ranges evenly.
pub(super) struct Sample {
    /// Share of the full stroke, and milliseconds of rotational wait.
    accesses: Vec<(f64, f64)>,
    /// Milliseconds of everything else.
    rest: f64,
    revolution: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Extremes {
    /// The share of reads that the buffer answers.
    pub(super) hits: f64,
    /// The share of accesses that need more than one try.
    pub(super) retries: f64,
    /// What such an access loses.
    pub(super) revolutions: u32,
}

impl Sample {
    pub(super) fn new(geometry: &Geometry, revolution: f64, rest: f64) -> Self {
        let full = f64::from(geometry.cylinders().max(2) - 1);
        let cylinder =
            |share: f64| f64::from(geometry.place(address(geometry, share)).arm.cylinder);
        let access = |index: u32| {
            let [from, to, wait] = evenly(index);
            let distance = (cylinder(from) - cylinder(to)).abs() / full;
            (distance, wait * revolution)
        };
        Self { accesses: (0..ACCESSES).map(access).collect(), rest, revolution }
    }

    pub(super) fn figures(&self, seeks: &Curve, extremes: Extremes) -> Figures {
        let time = |(distance, wait): &(f64, f64)| {
            let seek = if *distance > 0.0 { seeks.at(*distance) } else { 0.0 };
            self.rest + seek + wait
        };
        let mut times: Vec<f64> = self.accesses.iter().map(time).collect();
        times.sort_unstable_by(f64::total_cmp);
        let Extremes { hits, retries, revolutions } = extremes;
        let lost = f64::from(revolutions) * self.revolution;
        let moved = times.iter().sum::<f64>() / f64::from(ACCESSES) + retries * lost;
        let mean = hits * HIT_MS + (1.0 - hits) * moved;
        let below = |limit: f64| {
            let count = times.partition_point(|time| *time < limit);
            f64::from(u32::try_from(count).expect("below 2^13")) / f64::from(ACCESSES)
        };
        let share = |limit: f64| {
            let moved = (1.0 - retries) * below(limit) + retries * below(limit - lost);
            let hit = if limit >= HIT_MS { hits } else { 0.0 };
            hit + (1.0 - hits) * moved
        };
        let quantile = |wanted: f64| {
            let (mut low, mut high) = (0.0, times[times.len() - 1] + lost);
            for _ in 0..30 {
                let middle = f64::midpoint(low, high);
                if share(middle) < wanted { low = middle } else { high = middle }
            }
            high
        };
        let ends = [("iops", 1000.0 / mean), ("mean_ms", mean)];
        ends.into_iter().chain(QUANTILES.map(|(key, share)| (key, quantile(share)))).collect()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of the capacity"
)]
fn address(geometry: &Geometry, share: f64) -> Lba {
    Lba::new((share * geometry.capacity().get() as f64) as u64)
}

/// The additive recurrence of the plastic number in three dimensions (Roberts 2018, "The
/// unreasonable effectiveness of quasirandom sequences"): it leaves no gaps in any of them.
fn evenly(index: u32) -> [f64; 3] {
    const GENERATORS: [f64; 3] =
        [0.819_172_513_396_164_4, 0.671_043_606_703_789_2, 0.549_700_477_901_970_2];
    GENERATORS.map(|step| (0.5 + step * f64::from(index)) % 1.0)
}
