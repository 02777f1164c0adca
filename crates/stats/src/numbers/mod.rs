//! Means, medians and conversions that all statistics share.

mod quantile;
mod remaining;

pub use quantile::quantile_reportable;
pub use remaining::remaining;

/// Returns exp(`log`), kept inside what JSON can hold: neither zero nor infinity.
pub(crate) fn ratio(log: f64) -> f64 {
    libm::exp(log).clamp(f64::MIN_POSITIVE, f64::MAX)
}

/// A count of blocks, batches or flips as a number.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub fn float(count: usize) -> f64 {
    count as f64
}

/// Returns the arithmetic mean; zero for nothing.
pub fn mean(values: &[f64]) -> f64 {
    match values {
        [] => 0.0,
        // The mean of equal values must be that value to the last bit: no variation is then zero.
        [first, rest @ ..] if rest.iter().all(|v| v.total_cmp(first).is_eq()) => *first,
        _ => values.iter().sum::<f64>() / float(values.len()),
    }
}

/// Returns the standard deviation with n - 1; zero for fewer than two values.
pub fn standard_deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let centre = mean(values);
    let squares: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
    (squares / float(values.len() - 1)).sqrt()
}

/// Returns the median, the mean of the two middle values of an even number.
///
/// # Panics
/// If there is no value.
pub fn median(values: &[f64]) -> f64 {
    assert!(!values.is_empty(), "the median of no values is undefined");
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[middle],
        // Halves of the distance, not of the sum, which may overflow.
        _ => sorted[middle - 1] + (sorted[middle] - sorted[middle - 1]) / 2.0,
    }
}
