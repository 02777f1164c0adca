//! Reads that something else decides: hits in a cache, and reads that need more than one try.

use crate::fit::simulate::{self, Seen};

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Extremes {
    /// The share of reads that the buffer answers.
    pub(super) hits: f64,
    /// The share of accesses that need more than one try.
    pub(super) retries: f64,
}

/// What a read loses that needs more than one try.
pub(super) const RETRY_REVOLUTIONS: u32 = 3;

/// More of either is not a drive that works.
const MOST: f64 = 0.03;

/// A quantile this much off is not chance.
const CLEAR: f64 = 1.15;

impl Extremes {
    /// Those with which `seen`, which has none of either, has the p1 and the p99.5 (or p99.9) that
    /// were measured.
    pub(super) fn of(
        seen: &Seen,
        p1: Option<f64>,
        high: [Option<f64>; 2],
        revolution: f64,
    ) -> Self {
        let hits = p1.filter(|p1| p1 * CLEAR < seen.quantile(0.01)).map_or(0.0, |p1| {
            // Reads below p1 are hits, and those of the rest that are as quick.
            (0.01 - 0.99 * share_below(seen, p1)).clamp(0.0, 0.0099)
        });
        let lost = f64::from(RETRY_REVOLUTIONS) * revolution;
        let highest = [0.995, 0.999].into_iter().zip(high);
        let clear = highest.filter_map(|(share, value)| Some((share, value?)));
        let mut clear = clear.filter(|(share, value)| *value > CLEAR * seen.quantile(*share));
        let retries = clear.next().map_or(0.0, |(share, value)| {
            let above = 1.0 - share_below(seen, value);
            let above_late = 1.0 - share_below(seen, value - lost);
            (((1.0 - share) - above) / (above_late - above).max(0.05)).clamp(0.0, MOST)
        });
        Self { hits, retries }
    }
}

fn share_below(seen: &Seen, limit: f64) -> f64 {
    let count = seen.sorted.partition_point(|time| *time < limit);
    simulate::float(count as u64) / simulate::float(seen.sorted.len() as u64)
}
