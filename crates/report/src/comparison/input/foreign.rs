//! Another tool's results as arms.

use drivelab_core::{Refusal, foreign};
use drivelab_stats::Better;

use super::{ArmRuns, Input, RunFigure, Source, checked, in_order, one_arm, order_note};
use drivelab_core::foreign::{Imported, ImportedResult, Label};

/// Puts foreign results side by side: each is an arm by the name given, and its lines are its
/// runs.
pub fn from_foreign(arms: &[(String, Imported)]) -> Result<Input, Refusal> {
    let lines = arms.iter().map(|(name, imported)| (name.clone(), by_line(imported)));
    let lines = lines.collect();
    input(lines, arms.iter().map(|(_, imported)| imported))
}

/// Takes the arms from one foreign result, by what each line is called; where there are just two
/// lines of one name, they are the two arms.
pub fn from_lines(imported: &Imported) -> Result<Input, Refusal> {
    let lines = by_line(imported);
    let mut arms: Vec<(String, Vec<Line>)> = Vec::new();
    for line in &lines {
        let name = line[0].arm.clone();
        match arms.iter_mut().find(|(known, _)| *known == name) {
            Some((_, runs)) => runs.push(line.clone()),
            None => arms.push((name, vec![line.clone()])),
        }
    }
    if let [(name, runs)] = arms.as_slice() {
        arms = match runs.as_slice() {
            [first, second] => vec![
                (format!("{name}-1"), vec![first.clone()]),
                (format!("{name}-2"), vec![second.clone()]),
            ],
            [_] => return Err(one_arm(name)),
            _ => {
                return Err(Refusal::request(format!(
                    "all {} lines are called `{name}`: put the lines of each arm into a file of \
                     its own and compare the files",
                    runs.len()
                )));
            }
        };
    }
    input(arms, std::iter::once(imported))
}

/// The results of one line.
type Line<'a> = Vec<&'a ImportedResult>;

fn by_line(imported: &Imported) -> Vec<Line<'_>> {
    let mut lines: Vec<Line> = Vec::new();
    for result in &imported.results {
        match lines.last_mut().filter(|line| line[0].line == result.line) {
            Some(line) => line.push(result),
            None => lines.push(vec![result]),
        }
    }
    lines
}

fn input<'a>(
    arms: Vec<(String, Vec<Line<'a>>)>,
    imported: impl Iterator<Item = &'a Imported>,
) -> Result<Input, Refusal> {
    let mut notes = Vec::new();
    let mut tools: Vec<&str> = Vec::new();
    let mut versions: Vec<&str> = Vec::new();
    for it in imported {
        let unknown = it.unknown.iter().map(|unknown| format!("Not read: {unknown}."));
        for note in it.notes.iter().cloned().chain(unknown) {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        tools.push(&it.tool);
        versions.push(&it.tool_version);
    }
    tools.dedup();
    versions.dedup();
    if versions.len() > 1 {
        notes.push(format!(
            "The arms were measured with different versions of the tool ({}): it may be these \
             that differ.",
            versions.join(", ")
        ));
    }
    let named = arms.into_iter().map(|(name, lines)| {
        let is_single = lines.len() == 1;
        let runs = lines
            .into_iter()
            .map(|line| line.into_iter().map(|result| figure(result, is_single)).collect());
        ArmRuns { name, runs: in_order(runs.collect()) }
    });
    let arms: Vec<ArmRuns> = named.collect();
    notes.extend(order_note(&arms));
    let source = Source::Foreign { tool: tools.join(", ") };
    checked(Input::new(source, arms, notes))
}

fn figure(result: &ImportedResult, is_single: bool) -> RunFigure {
    let remarks = result.remarks.iter();
    RunFigure {
        metric: result.metric.clone(),
        value: result.value,
        unit: result.unit.to_owned(),
        better: match result.better {
            foreign::Better::More => Better::More,
            foreign::Better::Less => Better::Less,
        },
        is_detail: result.is_detail,
        // Of several runs none is the only one.
        remarks: remarks.filter(|r| is_single || r.label != Label::SingleRun).cloned().collect(),
    }
}
