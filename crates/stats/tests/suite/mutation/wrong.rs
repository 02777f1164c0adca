//! Parts that look plausible and are wrong for paired runs.

use drivelab_stats::distribution::{normal, student};
use drivelab_stats::interval::Interval;
use drivelab_stats::{Arm, Pair};

use super::pipeline::differences;
use crate::truth::random::Random;

/// All runs of A, then all of B.
pub(super) fn all_a_then_all_b(blocks: usize, _: &mut Random) -> Vec<Arm> {
    [Arm::A, Arm::B].into_iter().flat_map(|arm| vec![arm; blocks]).collect()
}

/// The gain as a fraction of A instead of a log ratio.
pub(super) fn relative_difference(pair: &Pair) -> (f64, f64) {
    (0.0, pair.b / pair.a - 1.0)
}

fn count(values: &[f64]) -> f64 {
    f64::from(u32::try_from(values.len()).expect("tens of values"))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values)
}

/// Squared standard error of the mean.
fn squared_error(values: &[f64]) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|v| (v - centre) * (v - centre)).sum();
    squares / (count(values) - 1.0) / count(values)
}

/// Welch's interval, as if the runs of a block had nothing in common.
pub(super) fn welch_interval(a: &[f64], b: &[f64], confidence: f64) -> Interval {
    let (error_a, error_b) = (squared_error(a), squared_error(b));
    let error = error_a + error_b;
    let df = error * error
        / (error_a * error_a / (count(a) - 1.0) + error_b * error_b / (count(b) - 1.0));
    let half = student::quantile(0.5 + 0.5 * confidence, df) * error.sqrt();
    let centre = mean(b) - mean(a);
    Interval { lo: centre - half, hi: centre + half }
}

/// Two-sided p value of Welch's test.
pub(crate) fn welch_p(a: &[f64], b: &[f64]) -> f64 {
    let (error_a, error_b) = (squared_error(a), squared_error(b));
    let error = error_a + error_b;
    let df = error * error
        / (error_a * error_a / (count(a) - 1.0) + error_b * error_b / (count(b) - 1.0));
    student::two_sided((mean(b) - mean(a)) / error.sqrt(), df)
}

/// The bias-corrected and accelerated bootstrap interval (Efron 1987).
pub(super) fn bca_interval(a: &[f64], b: &[f64], confidence: f64) -> Interval {
    const RESAMPLES: usize = 1_000;
    let d = differences(a, b);
    let mut random = Random::new(1);
    let mut resampled = || {
        let sum: f64 = (0..d.len()).map(|_| d[random.below(d.len())]).sum();
        sum / count(&d)
    };
    let mut means: Vec<f64> = (0..RESAMPLES).map(|_| resampled()).collect();
    means.sort_by(f64::total_cmp);

    let centre = mean(&d);
    let below = means.iter().filter(|m| **m < centre).copied().collect::<Vec<_>>();
    let bias = normal::quantile((count(&below) / count(&means)).clamp(0.001, 0.999));
    let (squares, cubes) = d.iter().fold((0.0, 0.0), |(s, c), v| {
        let jackknife = v - centre;
        (s + jackknife * jackknife, c + jackknife * jackknife * jackknife)
    });
    let acceleration = cubes / (6.0 * squares * squares.sqrt());
    let limit = |tail: f64| {
        let z = bias + normal::quantile(tail);
        let position = normal::cdf(bias + z / (1.0 - acceleration * z)) * count(&means);
        let rank = (0..RESAMPLES - 1).find(|i| count(&means[..=*i]) >= position);
        means[rank.unwrap_or(RESAMPLES - 1)]
    };
    Interval { lo: limit(0.5 - 0.5 * confidence), hi: limit(0.5 + 0.5 * confidence) }
}
