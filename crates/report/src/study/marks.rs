//! The marks of a study's runs, folded: one sentence a mark, which names the arms.

use std::collections::BTreeMap;

use drivelab_core::record::MarkId;

use super::Experiment;

/// What casts doubt on the figures of which arms.
pub(super) fn notes(experiment: &Experiment) -> Vec<String> {
    let arms = experiment.arms.len();
    let mut runs = vec![0_usize; arms];
    let mut marked: BTreeMap<MarkId, Vec<usize>> = BTreeMap::new();
    for run in &experiment.runs {
        runs[run.arm] += 1;
        for mark in run.marks.iter().filter(|mark| !is_said_otherwise(**mark)) {
            marked.entry(*mark).or_insert_with(|| vec![0; arms])[run.arm] += 1;
        }
    }
    let note = |(mark, counts): (MarkId, Vec<usize>)| {
        let of_arm = |(arm, count): (usize, &usize)| {
            let (all, name) = (runs[arm], &experiment.arms[arm].name);
            (*count > 0).then(|| format!("{count} of {all} runs of `{name}`"))
        };
        let who: Vec<String> = counts.iter().enumerate().filter_map(of_arm).collect();
        let alike = counts.iter().zip(&runs).all(|both| both == (&counts[0], &runs[0]));
        let who = if alike {
            format!("{} of {} runs of every arm", counts[0], runs[0])
        } else {
            who.join(", ")
        };
        format!("In {who}: {}.", mark.meaning())
    };
    marked.into_iter().map(note).collect()
}

/// Marks of which a study speaks in words of its own.
fn is_said_otherwise(mark: MarkId) -> bool {
    matches!(mark, MarkId::Modelled | MarkId::Emulated | MarkId::FewRequests)
}
