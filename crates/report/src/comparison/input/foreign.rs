//! Another tool's results as arms.

use drivelab_core::Refusal;
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Figure, Label};

use super::{ArmRuns, Input, Source, checked, in_order, one_arm, order_note};
use crate::run;

/// Puts foreign results side by side: each is an arm by the name given.
pub fn from_foreign(arms: &[(String, Imported)]) -> Result<Input, Refusal> {
    let named = arms.iter().map(|(name, imported)| (name.clone(), imported.runs.iter().collect()));
    input(named.collect(), arms.iter().map(|(_, imported)| imported))
}

/// Takes the arms from one foreign result, by what each run is called; where there are just two
/// runs of one name, they are the two arms.
pub fn from_lines(imported: &Imported) -> Result<Input, Refusal> {
    let mut arms: Vec<(String, Vec<&ImportedRun>)> = Vec::new();
    for run in &imported.runs {
        match arms.iter_mut().find(|(known, _)| *known == run.arm) {
            Some((_, runs)) => runs.push(run),
            None => arms.push((run.arm.clone(), vec![run])),
        }
    }
    if let [(name, runs)] = arms.as_slice() {
        arms = match runs[..] {
            [first, second] => {
                vec![(format!("{name}-1"), vec![first]), (format!("{name}-2"), vec![second])]
            }
            [_] => return Err(one_arm(name)),
            _ => {
                return Err(Refusal::request(format!(
                    "all {} lines are named `{name}`: put the lines of each arm into a separate \
                     file and compare the files",
                    runs.len()
                )));
            }
        };
    }
    input(arms, std::iter::once(imported))
}

fn input<'a>(
    arms: Vec<(String, Vec<&ImportedRun>)>,
    imported: impl Iterator<Item = &'a Imported>,
) -> Result<Input, Refusal> {
    let mut notes = Vec::new();
    let mut tools: Vec<&str> = Vec::new();
    let mut versions: Vec<&str> = Vec::new();
    for file in imported {
        let unknown = file.unknown.iter().map(|unknown| format!("Not read: {unknown}."));
        for note in file.notes.iter().cloned().chain(unknown) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        tools.push(&file.tool);
        versions.push(&file.tool_version);
    }
    tools.dedup();
    versions.dedup();
    if versions.len() > 1 {
        notes.push(format!(
            "The arms were measured with different versions of the tool ({}), which may cause the \
             difference.",
            versions.join(", ")
        ));
    }
    let named = arms.into_iter().map(|(name, runs)| {
        let figures = runs.iter().map(|run| figures(run, runs.len() == 1)).collect();
        ArmRuns { name, runs: in_order(figures) }
    });
    let arms: Vec<ArmRuns> = named.collect();
    notes.extend(order_note(&arms));
    let source = Source::Foreign { tool: tools.join(", ") };
    checked(Input::new(source, arms, notes))
}

fn figures(run: &ImportedRun, is_single: bool) -> Vec<Figure> {
    let mut figures: Vec<Figure> = run.phases.iter().flat_map(run::of_phase).collect();
    // Of several runs none is the only one.
    for figure in &mut figures {
        figure.remarks.retain(|remark| is_single || remark.label != Label::SingleRun);
    }
    figures
}
