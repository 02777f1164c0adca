//! The ratio of one more drive, from simulated drives that differ in unmeasured numbers.
//!
//! A block over such drives gives two intervals. The confidence interval is about the mean over all
//! drives that fit a profile, and shrinks with the number of blocks. The prediction interval is
//! about one more of these drives, and does not: only knowing more about the drive narrows it.

mod kinds;
mod linear;
mod predictive;
mod unknown;
mod variance;

use serde::{Deserialize, Serialize};

use crate::compare::Verdict;
use crate::criteria::Criteria;
use crate::family::Adjusted;
use crate::interval::Interval;
use crate::numbers::mean;
use crate::pair::Pair;
use crate::warning::{Warning, WarningId};
use predictive::Predictive;
pub use unknown::Unknown;
pub use variance::{Cause, Part};

/// The prediction for one more specimen of the drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// Specimens it rests on.
    pub n: usize,
    /// The ratio of one more specimen lies between these with 95 %.
    pub prediction95: [f64; 2],
    /// Shares of all such specimens.
    pub shares: Shares,
    /// The sources of the variance of the log ratio, the largest part first; empty where there is
    /// none, or too few specimens to separate its causes.
    pub parts: Vec<Part>,
    /// The verdict that the prediction interval alone gives.
    pub verdict: Verdict,
}

/// Shares of all specimens; they add up to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    /// Better by more than the margin.
    pub faster: f64,
    /// Worse by more than the margin.
    pub slower: f64,
    /// Neither.
    pub no_practical_difference: f64,
}

/// Predicts the ratio of one more specimen from one specimen a block.
///
/// `model_sigma` is the deviation of the logarithm of the ratio on a real drive from the model, as
/// a standard deviation: see [`unshared`]. `None` for fewer blocks than any verdict needs.
///
/// The log ratios of all specimens are taken as normal around the mean of their kind, where an
/// unknown makes kinds of drives (a choice, a mixture with a gap), and around one mean where none
/// does. Then the interval is Student's, `t (n - 1) s sqrt(1 + 1 / n)`, widened by the model's
/// part.
pub fn foresee(
    pairs: &[Pair],
    unknowns: &[Unknown],
    model_sigma: f64,
    criteria: &Criteria,
) -> Option<Forecast> {
    if pairs.len() < criteria.blocks_min() as usize {
        return None;
    }
    let d: Vec<f64> = pairs.iter().map(|pair| pair.log_ratio(criteria.better)).collect();
    // Profiles are files: a negative deviation has no meaning.
    let model = model_sigma.max(0.0);
    let predictive = Predictive::new(&d, unknowns, model);
    let tail = 0.5 * criteria.alpha;
    let interval = Interval { lo: predictive.quantile(tail), hi: predictive.quantile(1.0 - tail) };
    let bound = criteria.bound();
    let (slower, faster) = (predictive.below(-bound), predictive.above(bound));
    Some(Forecast {
        n: d.len(),
        prediction95: interval.ratios(),
        shares: Shares {
            faster,
            slower,
            // Rounding may take the rest below 0.
            no_practical_difference: (1.0 - faster - slower).max(0.0),
        },
        parts: variance::parts(&d, unknowns, model, criteria),
        verdict: verdict(interval, bound),
    })
}

/// Range of a figure of one more specimen with confidence 1 - `alpha`, from its logarithm
/// for each specimen, at least two of them; as in [`foresee`].
pub fn one_more(d: &[f64], unknowns: &[Unknown], model_sigma: f64, alpha: f64) -> [f64; 2] {
    let predictive = Predictive::new(d, unknowns, model_sigma.max(0.0));
    let [lo, hi] = [0.5 * alpha, 1.0 - 0.5 * alpha].map(|p| predictive.quantile(p));
    Interval { lo, hi }.ratios()
}

/// The deviation of a ratio from the model, from that of a rate.
///
/// A model errs in the effect of a mechanism: the choice of the next request, for example. On work
/// where no arm differs from another, the mechanisms that distinguish them are idle; the model errs
/// in all of them alike, and it cancels. So the error is at most as large as the largest of
/// `effects`, of which each is a root mean square of log ratios. Arms whose effects happen to be of
/// one size are no exception: the effect of each against a third is large.
pub fn unshared(model_sigma: f64, effects: impl IntoIterator<Item = f64>) -> f64 {
    let largest = effects.into_iter().fold(0.0, f64::max);
    model_sigma.max(0.0).min(largest)
}

/// The deviation of a ratio from the model where only numbers of the drive differ, from that of a
/// rate and the log ratios of all specimens.
///
/// The model errs in both arms alike, but for how strongly the number acts: by a share of the
/// effect (`OF_EFFECT`).
pub fn of_numbers(model_sigma: f64, d: &[f64]) -> f64 {
    let squares: Vec<f64> = d.iter().map(|d| d * d).collect();
    model_sigma.max(0.0).min(OF_EFFECT * mean(&squares).sqrt())
}

/// The error of the effect of a number, as a share of it: our estimate. Of what 32 requests at once
/// gain on nine measured disks, 0.26 to 0.69 in logarithms, the model misses 0.07.
const OF_EFFECT: f64 = 0.25;

/// The root mean square of the log ratios of two arms.
pub fn effect(from: &[f64], to: &[f64]) -> f64 {
    let squares = from.iter().zip(to).map(|(from, to)| {
        let d = libm::log(*to) - libm::log(*from);
        d * d
    });
    mean(&squares.collect::<Vec<f64>>()).sqrt()
}

fn verdict(interval: Interval, bound: f64) -> Verdict {
    if interval.lo > bound {
        Verdict::Faster
    } else if interval.hi < -bound {
        Verdict::Slower
    } else if interval.is_within(bound) {
        Verdict::NoPracticalDifference
    } else {
        Verdict::Inconclusive
    }
}

impl Forecast {
    /// Replaces the verdict about the mean by that of the prediction.
    ///
    /// A verdict about drives needs both: the prediction for one more drive, and the confidence of
    /// the comparison, adjusted for the others, for the mean. Where drives differ, more blocks
    /// settle nothing.
    pub fn judge(&self, adjusted: &mut Adjusted) {
        let comparison = &mut adjusted.comparison;
        // Drives are drawn to differ: remarks on their differences say nothing new.
        let of_drives = [WarningId::ShapeDiffers, WarningId::TiedValues];
        comparison.warnings.retain(|warning| !of_drives.contains(&warning.id));
        if self.verdict != Verdict::Inconclusive {
            return;
        }
        comparison.verdict = Verdict::Inconclusive;
        comparison.runs_needed = None;
        // Remarks on why the mean has the verdict it had, and what more blocks would do.
        let about_mean = [WarningId::Skew, WarningId::Multiplicity];
        comparison.warnings.retain(|warning| !about_mean.contains(&warning.id));
        let Shares { faster, slower, no_practical_difference } = self.shares;
        let [lo, hi] = self.prediction95;
        comparison.warnings.push(Warning::new(
            WarningId::Depends,
            format!(
                "faster on {:.0} %, slower on {:.0} % and practically the same on {:.0} % of all \
                 drives that fit the profile, x{lo:.3} to x{hi:.3}: more blocks do not narrow \
                 this; measure the drive",
                100.0 * faster,
                100.0 * slower,
                100.0 * no_practical_difference
            ),
        ));
    }

    /// The unknown that explains most, by index, where one is known to explain anything.
    pub fn decides(&self) -> Option<(usize, &Part)> {
        self.parts.iter().find_map(|part| match part.cause {
            Cause::Unknown(index) if part.ci95[0] > 0.0 => Some((index, part)),
            _ => None,
        })
    }
}
