//! Reads outside the mechanical distribution: hits in a cache, and retries.

use drivelab_core::numbers::float;

use crate::fit::simulate::Seen;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Extremes {
    /// The share of reads answered from the buffer.
    pub(super) hits: f64,
    /// The share of accesses with retries.
    pub(super) retries: f64,
}

/// Revolutions lost by a read with retries.
pub(super) const RETRY_REVOLUTIONS: u32 = 3;

/// Maximum share of either in a healthy drive.
const MOST: f64 = 0.03;

/// Ratio from which the deviation of a quantile is significant.
const CLEAR: f64 = 1.15;

impl Extremes {
    /// Returns the shares that give `seen`, a simulation without both, the measured p1 and p99.5
    /// (or p99.9).
    pub(super) fn of(
        seen: &Seen,
        p1: Option<f64>,
        high: [Option<f64>; 2],
        revolution: f64,
    ) -> Self {
        let hits = p1.filter(|p1| p1 * CLEAR < seen.quantile(0.01)).map_or(0.0, |p1| {
            // The first percent consists of hits, and of other reads that are as quick.
            // At most just below the percentile itself, or all quick reads would be hits.
            (0.01 - 0.99 * share_below(seen, p1)).clamp(0.0, 0.0099)
        });
        let lost = f64::from(RETRY_REVOLUTIONS) * revolution;
        let mut retries = 0.0;
        for (share, value) in [0.995, 0.999].into_iter().zip(high) {
            let Some(value) = value.filter(|value| *value > CLEAR * seen.quantile(share)) else {
                continue;
            };
            // A retry moves a read from above `value - lost` to above `value`.
            let above = 1.0 - share_below(seen, value);
            let above_late = 1.0 - share_below(seen, value - lost);
            retries = (((1.0 - share) - above) / (above_late - above).max(0.05)).clamp(0.0, MOST);
            break;
        }
        Self { hits, retries }
    }
}

fn share_below(seen: &Seen, limit: f64) -> f64 {
    let count = seen.sorted.partition_point(|time| *time < limit);
    float(count as u64) / float(seen.sorted.len() as u64)
}
