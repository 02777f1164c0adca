//! Many comparisons from one experiment: several metrics, or several arms against a baseline.

mod adjust;
mod adjusted;
mod claim;
mod max_t;
mod simultaneous;

use std::collections::BTreeMap;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

pub use adjust::holm;
pub use adjusted::{Adjusted, Adjustment, Role};
pub(crate) use claim::hold_together;
pub use max_t::max_t;
use max_t::max_t_of;
use simultaneous::simultaneous_of;
pub use simultaneous::{Critical, simultaneous};

use crate::compare::{self, CompareError};
use crate::criteria::Criteria;
use crate::pair::Pair;
use crate::sign_flip::{LastTosses, p_value_in_the_limit};

/// One comparison of a family: a metric, or an arm against the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// Its part in the family.
    pub role: Role,
    /// Its blocks; members with equal numbers of blocks list the same blocks in the same order.
    pub pairs: Vec<Pair>,
    /// Its criteria; alpha, seed and provenance of the first member hold for the family.
    pub criteria: Criteria,
}

/// All comparisons of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// In the order given.
    pub members: Vec<Adjusted>,
    /// All members show no practical difference. Needs no adjustment: demanding all is stricter
    /// than demanding any (intersection-union test).
    pub all_equivalent: bool,
}

/// A family that cannot be compared.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("comparison {index} of the family (from 0) cannot be made")]
pub struct FamilyError {
    /// Index of the member.
    pub index: usize,
    /// The reason.
    pub source: CompareError,
}

/// Compares all members and adjusts for their number.
pub fn compare_family(members: &[Member]) -> Result<Family, FamilyError> {
    for (index, member) in members.iter().enumerate() {
        compare::check(&member.pairs, &member.criteria)
            .map_err(|source| FamilyError { index, source })?;
    }
    let counted = without_copies(members);
    let mut tosses = LastTosses::default();
    let compared = members.iter().zip(&counted).map(|(member, kept)| {
        let mut left = kept.iter().copied().peekable();
        let blocks = 0..member.pairs.len();
        let copies = blocks.filter(|block| left.next_if_eq(block).is_none()).collect::<Vec<_>>();
        let pairs: Vec<Pair> = kept.iter().map(|block| member.pairs[*block]).collect();
        let comparison = compare::compare_kept(&pairs, copies.len(), &member.criteria, &mut tosses);
        Adjusted { copies, ..Adjusted::unadjusted(comparison, member.role) }
    });
    let mut adjusted: Vec<Adjusted> = compared.collect();
    let distinct = members.iter().zip(&counted).map(|(member, kept)| Member {
        pairs: kept.iter().map(|block| member.pairs[*block]).collect(),
        ..member.clone()
    });
    let kept: Vec<Member> = distinct.collect();
    let all_equivalent = !adjusted.is_empty() && adjusted.iter().all(Adjusted::is_equivalent);
    for role in [Role::Gate, Role::Other] {
        adjust_role(&kept, &mut adjusted, role, &mut tosses);
    }
    Ok(Family { members: adjusted, all_equivalent })
}

/// For each member the indices of its blocks without copies, in order.
///
/// Members with equal numbers of blocks share their blocks: such a block is a copy only if it is
/// one in every metric. A metric that never varies makes no copies of runs.
fn without_copies(members: &[Member]) -> Vec<Rc<[usize]>> {
    let mut kept: BTreeMap<usize, Rc<[usize]>> = BTreeMap::new();
    for member in members {
        let blocks = member.pairs.len();
        kept.entry(blocks).or_insert_with(|| {
            let shared = members.iter().filter(|other| other.pairs.len() == blocks);
            let metrics: Vec<&[Pair]> = shared.map(|other| other.pairs.as_slice()).collect();
            compare::distinct(&metrics, &member.criteria).into()
        });
    }
    members.iter().map(|member| Rc::clone(&kept[&member.pairs.len()])).collect()
}

fn adjust_role(members: &[Member], adjusted: &mut [Adjusted], role: Role, tosses: &mut LastTosses) {
    debug_assert_eq!(members.len(), adjusted.len());
    let indices: Vec<usize> = (0..members.len()).filter(|&i| members[i].role == role).collect();
    let Some(&first) = indices.first().filter(|_| indices.len() > 1) else { return };
    // All members of a role share their flips, so one seed and one level hold for them.
    let rules = members[first].criteria;
    let blocks = members[first].pairs.len();
    let rows: Vec<Vec<f64>> = indices.iter().map(|&i| log_ratios(&members[i])).collect();
    // Max-T needs the same flips for all metrics, and so the same blocks. Where the
    // blocks suffice for the normal limit, Holm's method loses little by ignoring the correlation.
    let shared = indices.iter().all(|&i| members[i].pairs.len() == blocks)
        && !rows.iter().all(|row| p_value_in_the_limit(row).is_some());
    let (p, adjustment) = if shared {
        (max_t_of(&rows, tosses.of(blocks, rules.seed)), Adjustment::MaxT)
    } else {
        let raw: Vec<f64> = indices.iter().map(|&i| adjusted[i].comparison.p).collect();
        (holm(&raw), Adjustment::Holm)
    };
    let together =
        shared.then(|| simultaneous_of(&rows, rules.alpha, tosses.of(blocks, rules.seed)));
    for (&i, p) in indices.iter().zip(p) {
        let it = &mut adjusted[i];
        // A random sample of flips may put the adjusted value below the raw one by chance.
        it.p_adjusted = p.max(it.comparison.p);
        it.adjustment = adjustment;
        let n = it.comparison.n;
        let critical =
            together.unwrap_or_else(|| Critical::bonferroni(n, indices.len(), rules.alpha));
        claim::hold_together(it, &members[i].criteria, critical, indices.len());
    }
}

fn log_ratios(member: &Member) -> Vec<f64> {
    member.pairs.iter().map(|p| p.log_ratio(member.criteria.better)).collect()
}
