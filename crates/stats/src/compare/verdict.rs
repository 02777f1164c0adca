//! From intervals to words.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::interval::Interval;

/// What may be concluded about arm B against the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Better by more than the minimum effect of interest.
    Faster,
    /// Worse by more than the minimum effect of interest.
    Slower,
    /// Not the same, but whether the difference matters is not settled.
    Different,
    /// The same within the minimum effect of interest.
    NoPracticalDifference,
    /// The data allow none of these.
    Inconclusive,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::Different => "different",
            Self::NoPracticalDifference => "no practical difference",
            Self::Inconclusive => "inconclusive",
        })
    }
}

/// The intervals of one estimator, as log ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// Interval at the confidence of the comparison (95 %), for differences.
    pub difference: Interval,
    /// Interval with twice the error outside (90 %), for equivalence: two one-sided tests.
    pub equivalence: Interval,
}

impl Evidence {
    /// Says whether these intervals alone support `verdict`; a strong claim implies a weak one.
    fn supports(&self, verdict: Verdict, bound: f64) -> bool {
        match verdict {
            Verdict::Faster => self.difference.lo > bound,
            Verdict::Slower => self.difference.hi < -bound,
            Verdict::NoPracticalDifference => self.equivalence.is_within(bound),
            Verdict::Different => !self.difference.contains(0.0),
            Verdict::Inconclusive => true,
        }
    }

    /// Returns the side of zero the interval for differences lies on, if it does.
    fn side(&self) -> Option<bool> {
        (!self.difference.contains(0.0)).then_some(self.difference.lo > 0.0)
    }
}

/// A verdict, and whether the estimators had to be reconciled for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// The strongest claim that both estimators support.
    pub verdict: Verdict,
    /// One estimator alone would have claimed more.
    pub disputed: bool,
}

/// Claims from strong to weak. Equivalence precedes mere difference: a small difference known to
/// be small is settled.
const CLAIMS: [Verdict; 5] = [
    Verdict::Faster,
    Verdict::Slower,
    Verdict::NoPracticalDifference,
    Verdict::Different,
    Verdict::Inconclusive,
];

/// Returns the strongest claim that both estimators support.
///
/// Agreement is asked per claim, not per class: when one interval lies beyond the bound and the
/// other only beyond zero, both still say "different". `significant` is the permutation test's
/// answer; no difference is claimed against it, so that no verdict contradicts its p value.
pub fn decide(first: &Evidence, second: &Evidence, bound: f64, significant: bool) -> Decision {
    let same_side = first.side() == second.side();
    let allowed = |claim: Verdict| match claim {
        Verdict::Faster | Verdict::Slower | Verdict::Different => same_side && significant,
        Verdict::NoPracticalDifference | Verdict::Inconclusive => true,
    };
    let strongest = |supported: &dyn Fn(Verdict) -> bool| {
        CLAIMS.into_iter().find(|c| supported(*c)).unwrap_or(Verdict::Inconclusive)
    };
    let verdict = strongest(&|claim| {
        allowed(claim) && first.supports(claim, bound) && second.supports(claim, bound)
    });
    let disputed = [first, second]
        .into_iter()
        .any(|evidence| strongest(&|claim| evidence.supports(claim, bound)) != verdict);
    Decision { verdict, disputed }
}
