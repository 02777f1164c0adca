//! The comparison of two arms, from pairs to verdict.

mod duplicate;
mod order;
mod remark;
mod sample;
mod verdict;

use serde::{Deserialize, Serialize};

pub use order::OrderTest;
pub use verdict::{Decision, Evidence, Verdict, decide};

use crate::criteria::{Criteria, CriteriaError, Provenance};
use crate::interval::{hodges_lehmann, hodges_lehmann_interval, student_interval};
use crate::numbers::ratio;
use crate::pair::{self, NotPositive, Pair};
use crate::power::{self, Seen};
use crate::sign_flip::LastTosses;
use crate::warning::Warning;
use order::OrderEffect;
use sample::Sample;

/// More blocks than any experiment has; a limit so that a wrong file cannot eat the memory.
pub const BLOCKS_MAX: usize = 100_000;

/// The comparison of arm B with the baseline A by one metric.
///
/// All ratios are above 1 where B is better.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Blocks used; copies are not counted.
    pub n: usize,
    /// Ratio of the geometric means.
    pub ratio: f64,
    /// Paired-t interval of `ratio` with confidence 1 - alpha; needs two blocks.
    pub ci95: Option<[f64; 2]>,
    /// Hodges-Lehmann estimate of the ratio, robust against outliers.
    pub hl_ratio: f64,
    /// Exact signed-rank limits of `hl_ratio`; need six blocks at 95 %.
    pub hl_ci95: Option<[f64; 2]>,
    /// The achieved confidence of `hl_ci95`, at least 1 - alpha.
    pub hl_confidence: Option<f64>,
    /// Paired-t interval with confidence 1 - 2 alpha: equivalence holds if it is within the margin
    /// (two one-sided tests).
    pub tost_ci90: Option<[f64; 2]>,
    /// Two-sided p value of the sign-flip test: exact up to 16 blocks, then 20,000 random flips;
    /// above 10,000 blocks fewer, and from about 30,000 on their normal limit plus the bound of its
    /// error.
    pub p: f64,
    /// The conclusion.
    pub verdict: Verdict,
    /// Blocks that a new experiment needs to settle the open question with 80 % power: where a
    /// difference is shown, whether it is beyond the margin. None if it is settled, or if no
    /// feasible number would do.
    pub runs_needed: Option<u32>,
    /// Standard deviation of the log ratios; needs two blocks.
    pub sd_log: Option<f64>,
    /// Order test, if the order of at least two blocks each way is known.
    pub order: Option<OrderTest>,
    /// Remarks that a reader must know.
    pub warnings: Vec<Warning>,
}

/// A comparison that cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CompareError {
    /// No blocks were given.
    #[error("there are no blocks to compare: run every arm once in each of at least 6 blocks")]
    NoBlocks,
    /// More blocks than [`BLOCKS_MAX`].
    #[error(
        "{0} blocks are more than {BLOCKS_MAX}: a block is one run of each arm, not one request or \
         one second; give one value per run"
    )]
    TooManyBlocks(usize),
    /// A value has no logarithm.
    #[error(transparent)]
    NotPositive(#[from] NotPositive),
    /// The criteria are out of range.
    #[error(transparent)]
    Criteria(#[from] CriteriaError),
}

/// Compares arm B with the baseline A.
pub fn compare(pairs: &[Pair], criteria: &Criteria) -> Result<Comparison, CompareError> {
    check(pairs, criteria)?;
    let kept: Vec<Pair> = distinct(&[pairs], criteria).into_iter().map(|at| pairs[at]).collect();
    let mut tosses = LastTosses::default();
    Ok(compare_kept(&kept, pairs.len() - kept.len(), criteria, &mut tosses))
}

pub(crate) fn check(pairs: &[Pair], criteria: &Criteria) -> Result<(), CompareError> {
    criteria.check()?;
    pair::check(pairs)?;
    match pairs.len() {
        0 => Err(CompareError::NoBlocks),
        n if n > BLOCKS_MAX => Err(CompareError::TooManyBlocks(n)),
        _ => Ok(()),
    }
}

/// Returns the indices of blocks that count, of metrics measured in the same blocks.
pub(crate) fn distinct(metrics: &[&[Pair]], criteria: &Criteria) -> Vec<usize> {
    match criteria.provenance {
        Provenance::Unknown => duplicate::without_copies(metrics),
        Provenance::OwnRuns | Provenance::Simulated => {
            (0..metrics.first().map_or(0, |pairs| pairs.len())).collect()
        }
    }
}

/// Compares blocks from which `copies` were omitted.
pub(crate) fn compare_kept(
    kept: &[Pair],
    copies: usize,
    criteria: &Criteria,
    tosses: &mut LastTosses,
) -> Comparison {
    let sample = Sample::new(kept, criteria.better);
    let order = order::test(kept, criteria.better);
    let estimates = Estimates::new(&sample, criteria, tosses);
    let decision = estimates.decide(criteria);
    let effect = order.as_ref().map(|o| estimates.order_effect(o, criteria));
    // An effect of the order may be all of the difference, so no claim survives it.
    let verdict = match effect {
        Some(OrderEffect::Decisive) => Verdict::Inconclusive,
        _ => decision.verdict,
    };
    let runs_needed = match effect {
        // A new experiment needs the blocks that its variation asks for, not more than this one.
        Some(OrderEffect::Decisive) => power::runs_needed(sample.sd, criteria),
        _ => runs_to_settle(&sample, verdict, criteria),
    };
    let warnings = remark::remarks(&remark::Facts {
        pairs: kept,
        copies,
        sample: &sample,
        order: order.as_ref().zip(effect),
        decision,
        criteria,
    });
    let conclusion = Conclusion { verdict, runs_needed, order, warnings };
    estimates.report(&sample, conclusion)
}

struct Conclusion {
    /// In canonical orientation.
    verdict: Verdict,
    runs_needed: Option<u32>,
    order: Option<OrderTest>,
    warnings: Vec<Warning>,
}

/// Everything estimated from the log ratios, still in canonical orientation.
struct Estimates {
    student: Option<Evidence>,
    rank: Option<Evidence>,
    rank_confidence: Option<f64>,
    p: f64,
}

impl Estimates {
    fn new(sample: &Sample, criteria: &Criteria, tosses: &mut LastTosses) -> Self {
        let d = &sample.sorted;
        // Equivalence takes the interval with twice the error outside: two one-sided tests.
        let (main, equivalence) = (1.0 - criteria.alpha, 1.0 - 2.0 * criteria.alpha);
        let student = student_interval(d, main)
            .zip(student_interval(d, equivalence))
            .map(|(difference, equivalence)| Evidence { difference, equivalence });
        let wide = hodges_lehmann_interval(d, main);
        let rank = wide
            .zip(hodges_lehmann_interval(d, equivalence))
            .map(|(w, n)| Evidence { difference: w.interval, equivalence: n.interval });
        let rank_confidence = rank.and(wide).map(|w| w.confidence);
        let p = tosses.p_value(d, criteria.seed);
        Self { student, rank, rank_confidence, p }
    }

    fn decide(&self, criteria: &Criteria) -> Decision {
        self.decide_shifted(0.0, criteria)
    }

    /// Decides as if the log ratios were larger by `offset`.
    fn decide_shifted(&self, offset: f64, criteria: &Criteria) -> Decision {
        match (&self.student, &self.rank) {
            (Some(student), Some(rank)) => decide(
                &student.shifted(offset),
                &rank.shifted(offset),
                criteria.bound(),
                self.p <= criteria.alpha,
            ),
            _ => Decision { verdict: Verdict::Inconclusive, disputed: false },
        }
    }

    fn order_effect(&self, test: &OrderTest, criteria: &Criteria) -> OrderEffect {
        // The bias may have either sign: which arm it favours is unknown.
        let bias = libm::log(test.bias_max);
        let verdict = self.decide(criteria).verdict;
        let robust =
            [-bias, bias].iter().all(|b| self.decide_shifted(*b, criteria).verdict == verdict);
        OrderEffect::new(test, robust, criteria)
    }

    fn report(&self, sample: &Sample, conclusion: Conclusion) -> Comparison {
        let Conclusion { verdict, runs_needed, order, warnings } = conclusion;
        Comparison {
            n: sample.sorted.len(),
            ratio: ratio(sample.sign() * sample.mean),
            ci95: self.student.map(|e| sample.oriented(e.difference).ratios()),
            hl_ratio: ratio(sample.sign() * hodges_lehmann(&sample.sorted)),
            hl_ci95: self.rank.map(|e| sample.oriented(e.difference).ratios()),
            hl_confidence: self.rank_confidence,
            tost_ci90: self.student.map(|e| sample.oriented(e.equivalence).ratios()),
            p: self.p,
            verdict: if sample.mirrored { mirror(verdict) } else { verdict },
            runs_needed,
            sd_log: (sample.sorted.len() > 1).then_some(sample.sd),
            order,
            warnings,
        }
    }
}

fn mirror(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Faster => Verdict::Slower,
        Verdict::Slower => Verdict::Faster,
        other => other,
    }
}

fn runs_to_settle(sample: &Sample, verdict: Verdict, criteria: &Criteria) -> Option<u32> {
    let (n, least) = (sample.sorted.len(), criteria.blocks_min());
    let seen = Seen { mean: sample.mean, sd: sample.sd, n, least };
    match verdict {
        Verdict::Faster | Verdict::Slower | Verdict::NoPracticalDifference => None,
        Verdict::Different => power::runs_to_settle(seen, criteria),
        Verdict::Inconclusive => power::runs_to_conclude(seen, criteria),
    }
}
