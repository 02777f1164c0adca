//! Arms that have the same runs: what they come to says nothing about two arms.

use std::collections::BTreeSet;

use drivelab_core::counted;
use drivelab_stats::WarningId;

use super::Withheld;
use crate::comparison::{ArmRuns, Input};
use crate::outcome::Outcome;

/// The reason for each pair of arms that has runs in common.
pub(crate) fn same_runs(input: &Input, outcomes: &[Outcome]) -> Vec<Withheld> {
    let pairs: BTreeSet<(usize, usize)> = outcomes.iter().map(|it| (it.from, it.to)).collect();
    let reasons = pairs.into_iter().filter_map(|(from, to)| {
        let (one, other) = (&input.arms[from], &input.arms[to]);
        let known: BTreeSet<u128> = one.runs.iter().filter_map(|run| run.content).collect();
        let is_known =
            other.runs.iter().filter(|run| run.content.is_some_and(|it| known.contains(&it)));
        let common = is_known.count();
        let concerned =
            outcomes.iter().enumerate().filter(|(_, it)| (it.from, it.to) == (from, to));
        (common > 0).then(|| Withheld {
            id: WarningId::SameRuns,
            message: message(one, other, common),
            hint: "give each arm runs of its own".into(),
            outcomes: concerned.map(|(index, _)| index).collect(),
        })
    });
    reasons.collect()
}

fn message(one: &ArmRuns, other: &ArmRuns, common: usize) -> String {
    let (from, to) = (&one.name, &other.name);
    if common == other.runs.len() && common == one.runs.len() {
        return format!("`{from}` and `{to}` have the same runs");
    }
    let all = counted(other.runs.len() as u64, "run");
    format!(
        "{common} of {all} of `{to}` {} of `{from}`, too",
        if common == 1 { "is" } else { "are" }
    )
}
