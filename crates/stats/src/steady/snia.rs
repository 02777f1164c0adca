//! The steady-state rule of the SNIA performance test specification, as a label only.

/// Rounds in the measurement window.
const ROUNDS: usize = 5;
/// The values in the window may span this fraction of their mean.
const EXCURSION_MAX: f64 = 0.20;
/// The fitted line may change by this fraction of the mean across the window.
const SLOPE_MAX: f64 = 0.10;

/// True if the last five rounds meet the rule (SNIA SSS PTS 2.0.2, "Steady State").
///
/// It is known from many reports and lenient: a drift of 10 % passes.
#[expect(clippy::cast_precision_loss, reason = "there are five rounds")]
pub(super) fn is_steady(rounds: &[f64]) -> bool {
    let Some(window) = rounds.last_chunk::<ROUNDS>() else { return false };
    let mean = window.iter().sum::<f64>() / ROUNDS as f64;
    let highest = window.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = window.iter().copied().fold(f64::INFINITY, f64::min);
    // Least squares over t = -2..2, whose squares add to 10; the window is 4 wide.
    let slope = (-2..=2).zip(window).map(|(t, y)| f64::from(t) * y).sum::<f64>() / 10.0;
    highest - lowest <= EXCURSION_MAX * mean && 4.0 * slope.abs() <= SLOPE_MAX * mean
}

#[cfg(test)]
mod tests {
    use super::is_steady;

    #[track_caller]
    fn check(rounds: &[f64], expected: bool) {
        assert_eq!(is_steady(rounds), expected, "{rounds:?}");
    }

    #[test]
    fn excursion_and_slope_are_limited() {
        check(&[100.0, 100.0, 100.0, 100.0], false);
        check(&[100.0; 5], true);
        check(&[500.0, 109.0, 91.0, 100.0, 109.0, 91.0], true);
        check(&[111.0, 89.0, 100.0, 111.0, 89.0], false);
        // A straight rise by 9 % and by 12 % of the mean.
        check(&[95.5, 97.75, 100.0, 102.25, 104.5], true);
        check(&[94.0, 97.0, 100.0, 103.0, 106.0], false);
    }
}
