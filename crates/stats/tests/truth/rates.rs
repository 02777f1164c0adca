//! How often the verdicts of a cell are right, and the limits they must keep.

use drivelab_stats::{Pair, Verdict, compare};

use crate::truth::experiment::{Cell, Design, MARGIN, criteria};
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

/// What one analysis of one experiment says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) verdict: Verdict,
    /// Main interval of the ratio.
    pub(crate) limits: [f64; 2],
}

impl Rates {
    pub(crate) fn add(&mut self, outcome: Outcome, truth: f64) {
        let difference = [Verdict::Faster, Verdict::Slower, Verdict::Different];
        let [lo, hi] = outcome.limits;
        let ratio = libm::exp(truth);
        self.experiments += 1;
        self.difference += u32::from(difference.contains(&outcome.verdict));
        self.material += u32::from(difference[..2].contains(&outcome.verdict));
        self.equivalent += u32::from(outcome.verdict == Verdict::NoPracticalDifference);
        // Rounding: an interval without width, at the truth, contains it.
        self.covered += u32::from(lo <= ratio * (1.0 + 1e-12) && ratio <= hi * (1.0 + 1e-12));
    }

    /// Whether a difference was claimed more often than in 5 % and three standard errors.
    pub(crate) fn has_false_alarms(&self) -> bool {
        self.exceeds(self.difference, 5.0)
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

/// Says what the crate itself concludes.
pub(crate) fn judge(pairs: &[Pair]) -> Outcome {
    let result = compare(pairs, &criteria()).expect("all values are positive");
    let limits = result.ci95.expect("cells have six blocks or more");
    Outcome { verdict: result.verdict, limits }
}

/// Generates the experiments of a cell and has them judged.
pub(crate) fn measure(
    cell: &Cell,
    experiments: u32,
    seed: u64,
    design: Design,
    mut judge: impl FnMut(&[Pair]) -> Outcome,
) -> Rates {
    let mut random = Random::new(seed);
    let mut rates = Rates::default();
    for _ in 0..experiments {
        rates.add(judge(&cell.experiment(design, &mut random)), cell.truth());
    }
    rates
}

/// Generates experiments by hand and has them judged.
pub(crate) fn rates_of(
    experiments: u32,
    seed: u64,
    truth: f64,
    experiment: impl Fn(&mut Random) -> Vec<Pair>,
) -> Rates {
    let mut random = Random::new(seed);
    let mut rates = Rates::default();
    for _ in 0..experiments {
        rates.add(judge(&experiment(&mut random)), truth);
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
    if cell.effect <= MARGIN {
        // Half of this if the log ratios are symmetric; if not, one side may carry both tails.
        limit("material though at most the minimum effect", rates.material, 5.0);
    }
    if cell.effect >= MARGIN {
        limit("equivalence though at least the minimum effect", rates.equivalent, 5.0);
    }
    limit("interval misses the truth", rates.experiments - rates.covered, 7.0);
    let (covered, most) = (rates.percent(rates.covered), 97.0);
    if covered > most + rates.margin(most) {
        found.push(format!("interval covers {covered:.1} %, limit {most} %: {cell:?}"));
    }
    found
}
