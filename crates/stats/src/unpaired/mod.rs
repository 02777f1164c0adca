//! Two arms whose runs were not made alternately: all of one, then all of the other.
//!
//! No run belongs to one of the other arm, so there are no pairs and no blocks: the groups are
//! compared by their means (Welch 1947), by the shift of their ranks, and by a permutation test of
//! Welch's t (Janssen 1997). All three take the runs of an arm for independent draws of one level.
//! A change between the two groups is part of the difference, and no interval holds it.

mod groups;
mod permutation;

pub use groups::Groups;

use crate::compare::{Comparison, Decision, Evidence, Verdict, decide};
use crate::criteria::Criteria;
use crate::distribution::student;
use crate::family::{Adjusted, Adjustment, Critical, Family, Role, hold_together, holm};
use crate::interval::Interval;
use crate::numbers::{float, ratio};
use crate::power::{self, Seen};
use crate::warning::{Warning, WarningId};
use groups::Shift;

/// The fewest runs of each arm with which the ranks allow a verdict at 5 %: of the 70 ways to rank
/// four and four runs two are the most extreme ones, of the 20 ways of three and three also two.
pub const UNPAIRED_MIN: u32 = 4;

/// One comparison of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct UnpairedMember {
    /// Its part.
    pub role: Role,
    /// The values of both arms, all finite and above zero.
    pub groups: Groups,
    /// Its criteria; alpha and seed of the first member hold for the family.
    pub criteria: Criteria,
}

/// Compares all members, and adjusts for their number (Holm, Bonferroni).
///
/// The doubt that pairing would have removed stands with every comparison.
///
/// # Panics
/// If an arm has no value, or one that is not finite and above zero.
pub fn compare_unpaired(members: &[UnpairedMember]) -> Family {
    let compared = members.iter().map(|member| Adjusted::unadjusted(compare(member), member.role));
    let mut adjusted: Vec<Adjusted> = compared.collect();
    // `all` is true of nothing.
    let all_equivalent = !adjusted.is_empty() && adjusted.iter().all(Adjusted::is_equivalent);
    for role in [Role::Gate, Role::Other] {
        adjust(members, &mut adjusted, role);
    }
    Family { members: adjusted, all_equivalent }
}

fn adjust(members: &[UnpairedMember], adjusted: &mut [Adjusted], role: Role) {
    let of_role: Vec<usize> = (0..members.len()).filter(|&i| members[i].role == role).collect();
    let among = of_role.len();
    if among < 2 {
        return;
    }
    let p: Vec<f64> = of_role.iter().map(|&i| adjusted[i].comparison.p).collect();
    for (&i, p) in of_role.iter().zip(holm(&p)) {
        let criteria = &members[i].criteria;
        (adjusted[i].p_adjusted, adjusted[i].adjustment) = (p, Adjustment::Holm);
        let Some(welch) = Welch::new(&members[i].groups.shift(criteria.better)) else { continue };
        let critical = Critical {
            difference: welch.critical(criteria.alpha / float(among)),
            // Two one-sided tests: alpha is left out on either side.
            equivalence: welch.critical(2.0 * criteria.alpha / float(among)),
        };
        hold_together(&mut adjusted[i], criteria, critical, among);
    }
}

/// The difference of two means with its error and degrees of freedom.
struct Welch {
    mean: f64,
    error: f64,
    df: f64,
}

impl Welch {
    /// `None` where an arm has one run, or no variation: its error is unknown then.
    fn new(shift: &Shift) -> Option<Self> {
        let parts = [&shift.a, &shift.b].map(|logs| shift.squared_error(logs));
        let [Some(a), Some(b)] = parts else { return None };
        // Welch and Satterthwaite: the degrees of freedom of a sum of variances that differ.
        let df = (a + b) * (a + b)
            / (a * a / float(shift.a.len() - 1) + b * b / float(shift.b.len() - 1));
        Some(Self { mean: shift.mean(), error: libm::sqrt(a + b), df })
    }

    /// The |t| that a share of `outside` exceeds by chance.
    fn critical(&self, outside: f64) -> f64 {
        student::quantile(1.0 - 0.5 * outside, self.df)
    }

    fn interval(&self, confidence: f64) -> Interval {
        let t = student::quantile(0.5 + 0.5 * confidence, self.df);
        Interval::around(self.mean, t * self.error)
    }
}

fn compare(member: &UnpairedMember) -> Comparison {
    let UnpairedMember { groups, criteria, .. } = member;
    let shift = groups.shift(criteria.better);
    let (main, equivalence) = (1.0 - criteria.alpha, 1.0 - 2.0 * criteria.alpha);
    let welch = Welch::new(&shift);
    let student = welch.as_ref().map(|welch| Evidence {
        difference: welch.interval(main),
        equivalence: welch.interval(equivalence),
    });
    let ranks = shift.rank_interval(main).zip(shift.rank_interval(equivalence));
    let rank = ranks
        .map(|(wide, narrow)| Evidence { difference: wide.interval, equivalence: narrow.interval });
    let p = permutation::p_value(&shift, criteria.seed);
    let decision = match (&student, &rank) {
        (Some(student), Some(rank)) => decide(student, rank, criteria.bound(), p <= criteria.alpha),
        _ => Decision { verdict: Verdict::Inconclusive, disputed: false },
    };
    // A new experiment has as many runs of each arm: the smaller group limits its error.
    let n = shift.a.len().min(shift.b.len());
    let sd = welch.as_ref().map(|welch| welch.error * libm::sqrt(float(n)));
    let seen = Seen { mean: shift.mean(), sd: sd.unwrap_or(0.0), n, least: UNPAIRED_MIN };
    let runs_needed = match decision.verdict {
        Verdict::Inconclusive if sd.is_some() => power::runs_to_conclude(seen, criteria),
        Verdict::Different => power::runs_to_settle(seen, criteria),
        _ => None,
    };
    Comparison {
        n,
        ratio: ratio(shift.mean()),
        ci95: student.map(|it| it.difference.ratios()),
        hl_ratio: ratio(shift.median()),
        hl_ci95: rank.map(|it| it.difference.ratios()),
        hl_confidence: ranks.map(|(wide, _)| wide.confidence),
        tost_ci90: student.map(|it| it.equivalence.ratios()),
        p,
        verdict: decision.verdict,
        runs_needed,
        sd_log: sd,
        order: None,
        warnings: warnings(&shift, welch.is_some(), rank.is_some(), decision),
    }
}

fn warnings(shift: &Shift, varies: bool, is_enough: bool, decision: Decision) -> Vec<Warning> {
    let (a, b) = (shift.a.len(), shift.b.len());
    let unpaired = "the runs of the arms were not made alternately: what drifted between them \
                    (temperature, fill level, background load, cache contents) counts as a \
                    difference of the arms, and no interval covers it; to remove this doubt, \
                    alternate the arms (`drivelab study` does)";
    let mut warnings = vec![Warning::new(WarningId::Unpaired, unpaired)];
    if !is_enough {
        let advice = format!(
            "{a} and {b} runs: no verdict is possible below {UNPAIRED_MIN} runs of each arm"
        );
        warnings.push(Warning::new(WarningId::FewBlocks, advice));
    } else if !varies {
        let advice = "all runs of an arm gave the same value: they may be copies of one, so their \
                      variation is unknown; repeat them";
        warnings.push(Warning::new(WarningId::NoVariation, advice));
    }
    if decision.disputed {
        let advice = "means, ranks and the permutation test do not support the same conclusion \
                      (outliers or skew): only what all of them support is claimed";
        warnings.push(Warning::new(WarningId::Skew, advice));
    }
    warnings
}

#[cfg(test)]
mod tests;
