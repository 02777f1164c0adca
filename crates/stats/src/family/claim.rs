//! The claims of one of many comparisons that hold together with the others.

use super::adjusted::Adjusted;
use super::simultaneous::Critical;
use crate::compare::{Evidence, Verdict};
use crate::criteria::Criteria;
use crate::interval::Interval;
use crate::numbers::float;
use crate::power::{self, Seen};
use crate::warning::{Warning, WarningId};

/// Adds the interval of the family to the comparison, and withdraws the claims that it does not
/// support.
///
/// Where all intervals of the family contain their truth, no word that follows from them is wrong:
/// neither "faster" or "slower" beyond the margin, nor "different", nor "no practical difference".
pub(crate) fn hold_together(
    adjusted: &mut Adjusted,
    criteria: &Criteria,
    critical: Critical,
    among: usize,
) {
    let Some(evidence) = evidence(adjusted, critical) else { return };
    adjusted.ci95_family = Some(evidence.difference.ratios());
    let own = adjusted.comparison.verdict;
    let verdict = supported(own, &evidence, criteria, adjusted.p_adjusted);
    if verdict == own {
        return;
    }
    let why = withdrawal(adjusted, criteria, evidence.difference, among);
    // An open equivalence needs the narrower interval, an open difference the wider one.
    let critical = match own {
        Verdict::NoPracticalDifference => critical.equivalence,
        _ => critical.difference,
    };
    let comparison = &mut adjusted.comparison;
    let seen = Seen {
        mean: libm::log(comparison.ratio),
        sd: comparison.sd_log.unwrap_or(0.0),
        n: comparison.n,
        // The comparison had a verdict, so its blocks are enough for one.
        least: u32::try_from(comparison.n).unwrap_or(u32::MAX),
    };
    comparison.verdict = verdict;
    comparison.runs_needed = power::runs_in_family(seen, critical, criteria);
    comparison.warnings.push(Warning::new(
        WarningId::Multiplicity,
        format!(
            "alone this would be `{own}`, but {why}; to decide by this metric, declare it primary \
             and run again"
        ),
    ));
}

fn withdrawal(
    adjusted: &Adjusted,
    criteria: &Criteria,
    interval: Interval,
    among: usize,
) -> String {
    let [lo, hi] = interval.ratios();
    match adjusted.comparison.verdict {
        Verdict::Faster | Verdict::Slower | Verdict::Different
            if adjusted.p_adjusted > criteria.alpha =>
        {
            let p = adjusted.p_adjusted;
            format!("among {among} comparisons, chance gives one as extreme with p = {p:.3}")
        }
        _ => format!(
            "the interval that holds for all {among} comparisons simultaneously is wider, x{lo:.3} \
             to x{hi:.3}"
        ),
    }
}

/// The intervals of the family, on the log scale; none where there is no interval at all.
fn evidence(adjusted: &Adjusted, critical: Critical) -> Option<Evidence> {
    let comparison = &adjusted.comparison;
    let [lo, hi] = comparison.ci95?.map(libm::log);
    let sd = comparison.sd_log?;
    if sd <= 0.0 {
        // Without variation all intervals are the same point.
        let point = Interval { lo, hi };
        return Some(Evidence { difference: point, equivalence: point });
    }
    let (centre, error) = (libm::log(comparison.ratio), sd / float(comparison.n).sqrt());
    let difference = Interval::around(centre, critical.difference * error);
    let equivalence = Interval::around(centre, critical.equivalence * error);
    Some(Evidence { difference, equivalence })
}

/// The strongest part of the comparison's verdict that the family's interval and p value support.
fn supported(own: Verdict, evidence: &Evidence, criteria: &Criteria, p: f64) -> Verdict {
    let weaker: &[Verdict] = match own {
        Verdict::Faster | Verdict::Slower => &[own, Verdict::Different],
        _ => &[own],
    };
    let supported = weaker.iter().find(|claim| {
        let is_significant = p <= criteria.alpha || !claim.is_difference();
        is_significant && evidence.supports(**claim, criteria.bound())
    });
    supported.copied().unwrap_or(Verdict::Inconclusive)
}
