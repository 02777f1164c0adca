//! The amount of warm-up to drop: the marginal standard error rule, MSER.

use crate::numbers::mean;

/// Batches at the end that are never dropped: with fewer, the rule mistakes luck for calm.
const KEPT_MIN: usize = 5;

/// Returns the means of whole batches of `size` values; a remainder at the end is left out.
pub(super) fn batch_means(series: &[f64], size: usize) -> Vec<f64> {
    series.chunks_exact(size).map(mean).collect()
}

/// Returns the number of leading values to drop so that the mean of the rest is known best.
///
/// Minimises the squared standard error sum (y - mean)^2 / m^2 over the m values kept (White 1997,
/// Simulation 69:323). Fed with means of five it is MSER-5.
pub(super) fn truncation(batches: &[f64]) -> usize {
    let mut best = (f64::INFINITY, 0);
    let (mut count, mut centre, mut squares) = (0.0, 0.0, 0.0);
    // From the end, adding one value at a time to mean and sum of squares (Welford's update).
    for (start, y) in batches.iter().enumerate().rev() {
        count += 1.0;
        let step = y - centre;
        centre += step / count;
        squares += step * (y - centre);
        let error = squares / (count * count);
        // Of equals the earliest: drop nothing without reason.
        if batches.len() - start >= KEPT_MIN && error <= best.0 {
            best = (error, start);
        }
    }
    best.1
}
