//! The analysis taken apart.

use drivelab_stats::interval::{Interval, hodges_lehmann_interval, student_interval};
use drivelab_stats::{Evidence, Pair, decide, sign_flip};

use crate::truth::experiment::{Design, randomised_blocks};
use crate::truth::rates::Outcome;

/// What a block says: the (log) values of A and of B.
pub(super) type Block = fn(&Pair) -> (f64, f64);
/// An interval of the mean difference, from the values of both arms.
pub(super) type Main = fn(a: &[f64], b: &[f64], confidence: f64) -> Interval;

/// The parts of the method that a mutation can replace.
pub(super) struct Pipeline {
    pub(super) design: Design,
    pub(super) block: Block,
    pub(super) main: Main,
    /// Confidence of the interval for equivalence.
    pub(super) equivalence: f64,
    pub(super) bound: f64,
}

impl Pipeline {
    /// The method as it should be.
    pub(super) const METHOD: Self = Self {
        design: randomised_blocks,
        block: |pair| (libm::log(pair.a), libm::log(pair.b)),
        main: |a, b, confidence| {
            student_interval(&differences(a, b), confidence).expect("six blocks or more")
        },
        equivalence: 0.90,
        // ln(1.03), the equivalence bound for a minimum effect of 3 %.
        bound: 0.029_558_802_241_544_4,
    };

    pub(super) fn judge(&self, pairs: &[Pair]) -> Outcome {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().map(self.block).unzip();
        let main = self.evidence(|confidence| (self.main)(&a, &b, confidence));
        let d = differences(&a, &b);
        let companion = self.evidence(|confidence| {
            hodges_lehmann_interval(&d, confidence).expect("six blocks or more").interval
        });
        let significant = sign_flip::p_value(&d, 7) <= 0.05;
        let decision = decide(&main, &companion, self.bound, significant);
        Outcome { verdict: decision.verdict, limits: main.difference.ratios() }
    }

    fn evidence(&self, interval: impl Fn(f64) -> Interval) -> Evidence {
        Evidence { difference: interval(0.95), equivalence: interval(self.equivalence) }
    }
}

/// Returns B - A of each block, in order.
pub(super) fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut d: Vec<f64> = a.iter().zip(b).map(|(a, b)| b - a).collect();
    d.sort_by(f64::total_cmp);
    d
}
