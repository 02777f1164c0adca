//! How often the verdicts of a cell are right, and the limits they must keep.

use drivelab_stats::{Comparison, Verdict, compare};

use crate::truth::experiment::{Cell, MEI, criteria, randomised_blocks};
use crate::truth::random::Random;

/// Counts over the experiments of one or more cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rates {
    pub(crate) experiments: u32,
    /// Faster, slower or different.
    pub(crate) difference: u32,
    /// Faster or slower: beyond the minimum effect.
    pub(crate) material: u32,
    pub(crate) equivalent: u32,
    /// The interval of the ratio contains the truth.
    pub(crate) covered: u32,
}

impl Rates {
    pub(crate) fn add(&mut self, result: &Comparison, truth: f64) {
        let difference = [Verdict::Faster, Verdict::Slower, Verdict::Different];
        let [lo, hi] = result.ci95.expect("cells have six blocks or more");
        let ratio = libm::exp(truth);
        self.experiments += 1;
        self.difference += u32::from(difference.contains(&result.verdict));
        self.material += u32::from(difference[..2].contains(&result.verdict));
        self.equivalent += u32::from(result.verdict == Verdict::NoPracticalDifference);
        // Rounding: an interval without width, at the truth, contains it.
        self.covered += u32::from(lo <= ratio * (1.0 + 1e-12) && ratio <= hi * (1.0 + 1e-12));
    }

    pub(crate) fn percent(&self, count: u32) -> f64 {
        100.0 * f64::from(count) / f64::from(self.experiments)
    }

    /// Three standard errors of a share of about `percent`.
    pub(crate) fn margin(&self, percent: f64) -> f64 {
        let share = percent / 100.0;
        300.0 * (share * (1.0 - share) / f64::from(self.experiments)).sqrt()
    }

    fn exceeds(&self, count: u32, limit: f64) -> bool {
        self.percent(count) > limit + self.margin(limit)
    }
}

/// Generates and judges the experiments of a cell.
pub(crate) fn measure(cell: &Cell, experiments: u32, seed: u64) -> Rates {
    let mut random = Random::new(seed);
    let mut rates = Rates::default();
    for _ in 0..experiments {
        let pairs = cell.experiment(randomised_blocks, &mut random);
        rates.add(&compare(&pairs, &criteria()).expect("all values are positive"), cell.truth());
    }
    rates
}

/// Returns what the rates violate; nothing is as it should be.
pub(crate) fn violations(cell: &Cell, rates: &Rates) -> Vec<String> {
    let mut found = Vec::new();
    let mut limit = |what: &str, count: u32, percent: f64| {
        if rates.exceeds(count, percent) {
            let seen = rates.percent(count);
            found.push(format!("{what} {seen:.1} %, limit {percent} %: {cell:?}"));
        }
    };
    if cell.effect <= 0.0 {
        limit("difference where there is none", rates.difference, 5.0);
    }
    if cell.effect <= MEI {
        limit("material though at most the minimum effect", rates.material, 2.5);
    }
    if cell.effect >= MEI {
        limit("equivalence though at least the minimum effect", rates.equivalent, 5.0);
    }
    limit("interval misses the truth", rates.experiments - rates.covered, 7.0);
    found
}
