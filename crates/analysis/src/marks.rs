//! The marks of many runs, folded: one sentence a mark, which names the arms.

use std::collections::BTreeMap;

use drivelab_core::record::{Label, MarkId, Nature, Remark, RunRecord};

/// Remarks that follow from the marks of a run, for each of its figures.
pub fn remarks(record: &RunRecord) -> impl Iterator<Item = Remark> {
    let marks = record.marks.iter();
    marks.filter_map(|mark| Some(Remark::new(label(mark.id)?, mark.message.clone())))
}

/// Marks that say what a number is; the others are notes.
fn label(mark: MarkId) -> Option<Label> {
    match (mark, mark.nature()) {
        (MarkId::NotDisk, _) => Some(Label::NotDisk),
        // What the drive's own cache does is the drive's.
        (_, None | Some(Nature::DriveCache)) => None,
        (_, Some(nature)) => Some(Label::Nature(nature)),
    }
}

/// Notes on doubtful figures and their arms; `runs` are the marks of each, by arm.
pub fn notes(names: &[&str], runs: &[(usize, impl AsRef<[MarkId]>)]) -> Vec<String> {
    let mut all = vec![0_usize; names.len()];
    let mut marked: BTreeMap<MarkId, Vec<usize>> = BTreeMap::new();
    for (arm, marks) in runs {
        all[*arm] += 1;
        for mark in marks.as_ref() {
            marked.entry(*mark).or_insert_with(|| vec![0; names.len()])[*arm] += 1;
        }
    }
    marked
        .into_iter()
        .map(|(mark, counts)| {
            let arms = counts.iter().zip(&all).zip(names).filter(|((count, _), _)| **count > 0);
            let who: Vec<String> = arms
                .map(|((count, all), name)| format!("{count} of {all} runs of `{name}`"))
                .collect();
            let alike = counts.iter().zip(&all).all(|both| both == (&counts[0], &all[0]));
            let who = if alike {
                format!("{} of {} runs of each arm", counts[0], all[0])
            } else {
                who.join(", ")
            };
            format!("In {who}: {}.", mark.meaning())
        })
        .collect()
}
