//! From intervals to words.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::interval::Interval;

/// The conclusion about arm B against the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Better by more than the margin.
    Faster,
    /// Worse by more than the margin.
    Slower,
    /// Not the same; whether the difference is beyond the margin is open.
    Different,
    /// The same within the margin.
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
    /// True if these intervals alone support `verdict`; a strong claim implies a weak one.
    pub(crate) fn supports(&self, verdict: Verdict, bound: f64) -> bool {
        match verdict {
            Verdict::Faster => self.difference.lo > bound,
            Verdict::Slower => self.difference.hi < -bound,
            Verdict::NoPracticalDifference => self.equivalence.is_within(bound),
            Verdict::Different => !self.difference.contains(0.0),
            Verdict::Inconclusive => true,
        }
    }

    pub(super) fn shifted(&self, offset: f64) -> Self {
        Self {
            difference: self.difference.shifted(offset),
            equivalence: self.equivalence.shifted(offset),
        }
    }

    /// Returns the side of zero the interval for differences lies on, if it does.
    fn side(&self) -> Option<bool> {
        (!self.difference.contains(0.0)).then_some(self.difference.lo > 0.0)
    }
}

/// A verdict, and the agreement of the estimators on it.
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
    let is_significant = significant && first.side() == second.side();
    let verdict = strongest(|claim| {
        (is_significant || !claim.is_difference())
            && first.supports(claim, bound)
            && second.supports(claim, bound)
    });
    let disputed = [first, second]
        .into_iter()
        .any(|evidence| strongest(|claim| evidence.supports(claim, bound)) != verdict);
    Decision { verdict, disputed }
}

fn strongest(is_supported: impl Fn(Verdict) -> bool) -> Verdict {
    CLAIMS.into_iter().find(|claim| is_supported(*claim)).unwrap_or(Verdict::Inconclusive)
}

impl Verdict {
    /// True if it claims a difference, which the permutation test must confirm.
    pub(crate) fn is_difference(self) -> bool {
        matches!(self, Self::Faster | Self::Slower | Self::Different)
    }
}

#[cfg(test)]
mod tests {
    use super::{Decision, Evidence, Interval, Verdict, decide};

    const BOUND: f64 = 0.03;

    /// Evidence with limits in percent; the interval for equivalence is a fifth narrower.
    fn evidence(lo: f64, hi: f64) -> Evidence {
        let cut = 0.1 * (hi - lo);
        let interval = |lo: f64, hi: f64| Interval { lo: lo / 100.0, hi: hi / 100.0 };
        Evidence { difference: interval(lo, hi), equivalence: interval(lo + cut, hi - cut) }
    }

    /// Judges both ways round: neither estimator has precedence.
    #[track_caller]
    fn check(a: (f64, f64), b: (f64, f64), verdict: Verdict, disputed: bool) {
        let (a, b) = (evidence(a.0, a.1), evidence(b.0, b.1));
        assert_eq!(decide(&a, &b, BOUND, true), Decision { verdict, disputed });
        assert_eq!(decide(&b, &a, BOUND, true), Decision { verdict, disputed });
    }

    #[test]
    fn both_intervals_support_the_same() {
        check((4.0, 6.0), (3.5, 7.0), Verdict::Faster, false);
        check((-9.0, -4.0), (-5.0, -3.1), Verdict::Slower, false);
        check((1.0, 5.0), (0.5, 4.0), Verdict::Different, false);
        check((-2.0, 2.0), (-1.0, 2.5), Verdict::NoPracticalDifference, false);
        check((1.0, 2.0), (0.5, 2.0), Verdict::NoPracticalDifference, false);
        check((-2.0, 8.0), (-5.0, 5.0), Verdict::Inconclusive, false);
    }

    #[test]
    fn only_what_both_support_is_claimed() {
        check((4.0, 6.0), (1.0, 6.0), Verdict::Different, true);
        check((4.0, 6.0), (-1.0, 6.0), Verdict::Inconclusive, true);
        check((1.0, 2.0), (1.0, 5.0), Verdict::Different, true);
        check((-2.0, 2.0), (-2.0, 6.0), Verdict::Inconclusive, true);
        check((4.0, 6.0), (-6.0, -4.0), Verdict::Inconclusive, true);
        check((0.1, 5.0), (-5.0, -0.1), Verdict::Inconclusive, true);
    }

    #[test]
    fn no_difference_is_claimed_against_the_test() {
        let judge = |lo: f64, hi: f64| decide(&evidence(lo, hi), &evidence(lo, hi), BOUND, false);
        let disputed = Decision { verdict: Verdict::Inconclusive, disputed: true };
        assert_eq!(judge(4.0, 6.0), disputed);
        assert_eq!(judge(1.0, 5.0), disputed);
        assert_eq!(judge(-2.0, 2.0).verdict, Verdict::NoPracticalDifference);
    }

    #[test]
    fn limits_on_the_edge_claim_nothing() {
        check((3.0, 6.0), (3.0, 6.0), Verdict::Different, false);
        check((0.0, 4.0), (0.0, 4.0), Verdict::Inconclusive, false);
    }
}
