//! The logarithmic scale of the ratio plots, in percent of their width.

use drivelab_analysis::outcome::Outcome;

/// Ratios beyond are drawn at the edge: the numbers next to them give their values.
const RATIO_MAX: f64 = 100.0;
/// Ticks may not come closer, in percent: their labels would touch on a phone.
const TICK_GAP: f64 = 14.0;
/// Candidates for ticks, the most welcome first.
const TICKS: [f64; 33] = [
    1.0, 2.0, 0.5, 5.0, 0.2, 10.0, 0.1, 1.5, 20.0, 0.05, 50.0, 0.02, 3.0, 0.7, 4.0, 0.3, 1.2, 0.8,
    1.1, 0.9, 1.4, 0.6, 1.05, 0.95, 1.02, 0.98, 1.01, 0.99, 1.3, 2.5, 1.005, 0.995, 1.03,
];

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    lo: f64,
    hi: f64,
}

impl Scale {
    /// A scale on which all outcomes, their intervals and the band of `margin` have room.
    pub(super) fn new<'a>(outcomes: impl Iterator<Item = &'a Outcome>, margin: f64) -> Self {
        // Twice the band: it should be seen as a band.
        let mut hi = libm::log1p(2.0 * margin);
        let mut lo = -hi;
        for outcome in outcomes {
            let comparison = &outcome.adjusted.comparison;
            let mean = comparison.ci95.unwrap_or([comparison.ratio; 2]);
            let drive = outcome.foreseen.as_ref().map_or(mean, |it| it.forecast.prediction95);
            lo = lo.min(log(mean[0])).min(log(drive[0]));
            hi = hi.max(log(mean[1])).max(log(drive[1]));
        }
        let edge = 0.05 * (hi - lo);
        Self { lo: lo - edge, hi: hi + edge }
    }

    /// The position of a ratio in percent of the width; ratios beyond the scale are at its edge.
    pub(super) fn position(self, ratio: f64) -> f64 {
        (100.0 * (log(ratio) - self.lo) / (self.hi - self.lo)).clamp(0.0, 100.0)
    }

    /// Ratios to be labelled, ascending, with their positions.
    pub(super) fn ticks(self) -> Vec<(f64, f64)> {
        let mut ticks: Vec<(f64, f64)> = Vec::new();
        for ratio in TICKS {
            let position = self.position(ratio);
            // Labels that are closer than this overlap, and one at the very edge is cut off.
            let fits = ticks.iter().all(|(_, other)| (position - other).abs() >= TICK_GAP);
            if (3.0..=97.0).contains(&position) && fits {
                ticks.push((ratio, position));
            }
        }
        ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
        ticks
    }
}

fn log(ratio: f64) -> f64 {
    libm::log(ratio.clamp(1.0 / RATIO_MAX, RATIO_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratios(scale: Scale) -> Vec<f64> {
        scale.ticks().into_iter().map(|(ratio, _)| ratio).collect()
    }

    #[test]
    fn one_is_always_labelled_and_labels_keep_apart() {
        let check = |lo: f64, hi: f64, expected: &[f64]| {
            let scale = Scale { lo: libm::log(lo), hi: libm::log(hi) };
            assert_eq!(ratios(scale), expected, "{lo} to {hi}");
            assert!(scale.ticks().windows(2).all(|w| w[1].1 - w[0].1 >= TICK_GAP));
        };
        check(0.9, 1.8, &[1.0, 1.2, 1.5]);
        check(0.05, 20.0, &[0.2, 1.0, 5.0]);
        check(0.95, 1.05, &[0.98, 1.0, 1.02]);
    }

    #[test]
    fn places_stay_on_the_plot() {
        let scale = Scale { lo: libm::log(0.5), hi: libm::log(2.0) };
        assert!((scale.position(1.0) - 50.0).abs() < 1e-9);
        assert!(scale.position(1e300) <= 100.0 && scale.position(1e-300) >= 0.0);
    }
}
