//! Another tool's results as arms.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use drivelab_core::Refusal;
use drivelab_core::foreign::{Imported, ImportedRun};
use drivelab_core::record::{Figure, Flaw, Label, Work};

use super::hosts::{self, OnHosts};
use super::sequence::{ALTERNATED, Order, order};
use super::{ArmRuns, Input, RunFigures, Source, checked, in_order, one_arm, order_note};
use crate::{digest, run};

/// One arm: everything that was measured of it, in one file or several.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmResults {
    /// Its name.
    pub name: String,
    /// Its files; each holds one run or several.
    pub files: Vec<Imported>,
}

/// Puts results side by side.
///
/// A file with runs of several configurations has separate metrics for each, called
/// `CONFIGURATION/METRIC`.
pub fn from_foreign(arms: &[ArmResults]) -> Result<Input, Refusal> {
    let files = arms.iter().flat_map(|arm| &arm.files);
    let are_one =
        files.clone().all(|file| file.runs.windows(2).all(|two| two[0].arm == two[1].arm));
    let named = arms.iter().map(|arm| {
        let runs = arm.files.iter().flat_map(|file| {
            if are_one { file.runs.iter().map(|run| vec![run]).collect() } else { together(file) }
        });
        (arm.name.clone(), runs.collect())
    });
    let mut input = input(named.collect(), are_one, files)?;
    for run in input.arms.iter_mut().flat_map(|arm| &mut arm.runs) {
        run.content = content(run);
    }
    Ok(input)
}

/// Different figures that identify a run without a time: tools print few digits.
const DISTINCT_MIN: usize = 3;

/// A hash of a run, if no other run has the same by chance.
fn content(run: &RunFigures) -> Option<u128> {
    let values: Vec<u64> = run.figures.values().iter().map(|value| value.to_bits()).collect();
    let distinct: BTreeSet<u64> = values.iter().copied().collect();
    if run.ended_unix_s.is_none() && distinct.len() < DISTINCT_MIN {
        return None;
    }
    let work: Vec<(&str, &str)> = run.work.iter().collect();
    Some(digest::hash(&(run.ended_unix_s, values, work)))
}

/// The first run of every configuration of a file, then the second of each, and so on.
fn together(file: &Imported) -> Vec<Vec<&ImportedRun>> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut together: Vec<Vec<&ImportedRun>> = Vec::new();
    for run in &file.runs {
        let index = counts.entry(&run.arm).or_default();
        if together.len() == *index {
            together.push(Vec::new());
        }
        together[*index].push(run);
        *index += 1;
    }
    together
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
    let arms = arms.into_iter().map(|(name, runs)| {
        let runs = runs.into_iter().map(|run| vec![run]).collect();
        (name, runs)
    });
    let mut input = input(arms.collect(), true, std::iter::once(imported))?;
    for ArmRuns { name, runs } in &mut input.arms {
        for run in runs {
            run.work = Arc::new(without_name(&run.work, name));
        }
    }
    Ok(input)
}

/// The work without what the name of the arm says: hyperfine names its arms by command and
/// parameters, and compares nothing else.
fn without_name(work: &Work, name: &str) -> Work {
    let mut rest = Work::default();
    for (key, value) in work.iter() {
        let is_named = name.contains(&format!(" {key}={value}"))
            || (key == "command" && name.starts_with(value));
        if !is_named {
            rest.set(key, value);
        }
    }
    rest
}

/// Each arm with its runs; of several configurations together, where they are not one.
fn input<'a>(
    arms: Vec<(String, Vec<Vec<&ImportedRun>>)>,
    are_one: bool,
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
    tools.sort_unstable();
    tools.dedup();
    versions.sort_unstable();
    versions.dedup();
    if tools.len() > 1 {
        notes.push(format!(
            "The arms were measured with different tools ({}), which may cause the difference.",
            tools.join(", ")
        ));
    } else if versions.len() > 1 {
        notes.push(format!(
            "The arms were measured with different versions of the tool ({}), which may cause the \
             difference.",
            versions.join(", ")
        ));
    }
    let ran_on = arms.iter().map(|(name, runs)| {
        let host =
            |run: &Vec<&ImportedRun>| run.iter().find_map(|it| it.host.as_deref().map(Arc::from));
        OnHosts { name: name.clone(), runs: runs.iter().map(host).collect() }
    });
    let ran_on: Vec<OnHosts> = ran_on.collect();
    let by_host = hosts::are_blocks(&ran_on)?;
    let named = arms.into_iter().map(|(name, runs)| {
        let is_single = runs.len() == 1;
        let times: Vec<Option<u64>> =
            runs.iter().map(|run| run.iter().filter_map(|it| it.ended_unix_s).max()).collect();
        let works = runs.iter().map(|run| Arc::new(work(run, are_one)));
        let works: Vec<Arc<Work>> = works.collect();
        let figures = runs
            .iter()
            .map(|run| run.iter().flat_map(|run| figures(run, is_single, are_one)).collect());
        let flaws: Vec<Vec<Flaw>> = runs
            .iter()
            .map(|run| run.iter().flat_map(|run| run.flaws.iter().cloned()).collect())
            .collect();
        let mut runs = in_order(figures.collect());
        for ((run, time), (work, flaws)) in
            runs.iter_mut().zip(times).zip(works.into_iter().zip(flaws))
        {
            (run.ended_unix_s, run.work, run.flaws) = (time, work, flaws);
        }
        ArmRuns { name, runs }
    });
    let source = Source::Foreign { tool: tools.join(", ") };
    let mut input = checked(Input::new(source, named.collect(), notes))?;
    if by_host {
        hosts::number(&mut input.arms, &ran_on);
        return Ok(Input { by_host, order_note: Some(hosts::BLOCKS.to_owned()), ..input });
    }
    Ok(paired_by_order(input))
}

/// The work of a run; with several configurations, the work of each, under the names of their
/// metrics.
fn work(configurations: &[&ImportedRun], is_one: bool) -> Work {
    let mut work = Work::default();
    for run in configurations {
        let prefix = if is_one { String::new() } else { format!("{}/", run.arm) };
        work.add(&prefix, &run.work);
    }
    work
}

fn figures(run: &ImportedRun, is_single: bool, is_one: bool) -> Vec<Figure> {
    let mut figures: Vec<Figure> = run.phases.iter().flat_map(run::of_phase).collect();
    for figure in &mut figures {
        // Of several runs none is the only one.
        figure.remarks.retain(|remark| is_single || remark.label != Label::SingleRun);
        if !is_one {
            figure.name = format!("{}/{}", run.arm, figure.name);
        }
    }
    figures
}

/// Pairs the runs by their order, unless their times say that they are no pairs.
fn paired_by_order(mut input: Input) -> Input {
    match order(&mut input.arms) {
        Order::NotAlternated(how) => input.not_alternated = Some(how),
        Order::Unknown => input.order_note = order_note(&input.arms),
        Order::Alternated => input.order_note = Some(ALTERNATED.to_owned()),
    }
    input
}
