//! The number of blocks that an experiment needs.

use crate::criteria::Criteria;
use crate::distribution::{normal, student};

/// Probability of a verdict if the planning assumptions hold.
pub const POWER: f64 = 0.8;
/// Above this no number is given: no one runs so many, and another design is needed.
pub const RUNS_MAX: u32 = 100_000;

/// Returns the blocks needed to decide by the margin with 80 % power.
///
/// `sd_log` is the standard deviation of the log ratios of the blocks. The number serves both
/// ends: to show equivalence if there is no difference, and to detect a difference of exactly the
/// margin. At least 6; `None` above [`RUNS_MAX`]. The power is that of the paired t alone:
/// asking a second interval as well costs up to ten points of it (docs/internals/known-truth.md).
pub fn runs_needed(sd_log: f64, criteria: &Criteria) -> Option<u32> {
    let bound = criteria.bound();
    planned(bound, sd_log, criteria, criteria.blocks_min())
}

/// The blocks of a design that needs at least `least` of them.
fn planned(bound: f64, sd_log: f64, criteria: &Criteria, least: u32) -> Option<u32> {
    let equivalence = runs_for(bound, sd_log, equivalence_tails(criteria, true, least));
    let difference = runs_for(bound, sd_log, difference_tails(criteria, least));
    Some(equivalence?.max(difference?))
}

/// The result of blocks that did not settle the question.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// Mean of the log ratios.
    pub(crate) mean: f64,
    /// Their standard deviation.
    pub(crate) sd: f64,
    /// Number of blocks.
    pub(crate) n: usize,
    /// The fewest with which the design allows a verdict.
    pub(crate) least: u32,
}

/// Returns the blocks needed where nothing is shown yet.
///
/// If the plan was too small, that is the plan to follow. If not, the effect lies where the plan
/// has less power, near the margin.
pub(crate) fn runs_to_conclude(seen: Seen, criteria: &Criteria) -> Option<u32> {
    let plan = planned(criteria.bound(), seen.sd, criteria, seen.least)?;
    if plan as usize > seen.n { Some(plan) } else { runs_to_settle(seen, criteria) }
}

/// Returns the blocks needed to say on which side of the margin the effect lies.
///
/// An effect as large as the one seen is shown to be beyond the margin, or within it, with 80 %
/// power. How far it is from zero plays no part: that is no longer open.
pub(crate) fn runs_to_settle(seen: Seen, criteria: &Criteria) -> Option<u32> {
    // Positive: the effect seems to lie beyond the margin; negative: within it.
    let beyond = seen.mean.abs() - criteria.bound();
    let needed = if beyond > 0.0 {
        runs_for(beyond, seen.sd, difference_tails(criteria, seen.least))
    } else {
        runs_for(-beyond, seen.sd, equivalence_tails(criteria, false, seen.least))
    };
    more_than(seen.n, needed?)
}

/// Returns the blocks needed for a claim that holds together with those of its family, whose
/// critical value of |t| this is: the value falls with more blocks, so it is rather too many.
pub(crate) fn runs_in_family(seen: Seen, critical: f64, criteria: &Criteria) -> Option<u32> {
    let gap = (seen.mean.abs() - criteria.bound()).abs();
    if gap <= 0.0 {
        return None;
    }
    let least = libm::pow((critical + normal::quantile(POWER)) * seen.sd / gap, 2.0);
    let needed = (whole(libm::ceil(least), seen.least)?..=RUNS_MAX).find(|n| {
        let power = student::quantile(POWER, f64::from(n - 1));
        f64::from(*n).sqrt() * gap >= (critical + power) * seen.sd
    });
    more_than(seen.n, needed?)
}

/// More blocks than the `n` that did not settle the question.
fn more_than(n: usize, needed: u32) -> Option<u32> {
    let more = u32::try_from(n).map_or(RUNS_MAX, |n| n.saturating_add(1));
    Some(needed.max(more)).filter(|runs| *runs <= RUNS_MAX)
}

/// Tail probabilities of the test and of missing the effect.
#[derive(Clone, Copy)]
struct Tails {
    alpha: f64,
    beta: f64,
    /// Fewest blocks that can give a verdict.
    floor: u32,
}

fn difference_tails(criteria: &Criteria, floor: u32) -> Tails {
    Tails { alpha: 0.5 * criteria.alpha, beta: 1.0 - POWER, floor }
}

/// A true effect of zero can miss either bound: the error is shared between them.
fn equivalence_tails(criteria: &Criteria, centred: bool, floor: u32) -> Tails {
    let beta = 1.0 - POWER;
    let beta = if centred { 0.5 * beta } else { beta };
    Tails { alpha: criteria.alpha, beta, floor }
}

/// Returns the smallest n for which a standard error fits `gap` as often as the tails ask.
///
/// The usual approximation with two quantiles of Student's t for the noncentral t distribution
/// (Julious 2004, Statistics in Medicine 23:1921, sections 3 and 5), good to a block or so.
fn runs_for(gap: f64, sd: f64, tails: Tails) -> Option<u32> {
    if gap <= 0.0 {
        return None;
    }
    let normal = normal::quantile(1.0 - tails.alpha) + normal::quantile(1.0 - tails.beta);
    let least = libm::ceil(libm::pow(normal * sd / gap, 2.0));
    // Student's quantiles lie beyond the normal ones: the search starts below and has few steps.
    (whole(least, tails.floor)?..=RUNS_MAX).find(|n| {
        let df = f64::from(n - 1);
        let student =
            student::quantile(1.0 - tails.alpha, df) + student::quantile(1.0 - tails.beta, df);
        f64::from(*n).sqrt() * gap >= student * sd
    })
}

/// Returns `runs` as an integer of at least the floor, or `None` above [`RUNS_MAX`].
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "compared with both limits first"
)]
fn whole(runs: f64, floor: u32) -> Option<u32> {
    (runs <= f64::from(RUNS_MAX)).then(|| (runs as u32).max(floor))
}
