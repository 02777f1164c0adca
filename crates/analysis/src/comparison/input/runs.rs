//! Stored runs as arms.

use std::collections::BTreeSet;
use std::sync::Arc;

use drivelab_core::Refusal;
use drivelab_core::record::MarkId;
use drivelab_stats::Provenance;

use super::hosts::{self, OnHosts};
use super::own::{OwnRun, OwnRuns};
use super::sequence::{ALTERNATED, Order, order};
use super::{ArmRuns, Input, RunFigures, Source, checked, order_note};
use crate::attachment::{ArmSettings, Question, Sample};
use crate::marks;
use crate::run::Dated;

/// Puts stored runs side by side, each arm by the name given.
///
/// Runs of different machines are refused, because what differs may be the machine, unless every
/// arm has runs of every machine: then each machine is held against itself.
pub fn from_runs(arms: &[(String, Vec<Dated>)]) -> Result<Input, Refusal> {
    let own = arms.iter().map(|(name, records)| {
        let mut own = OwnRuns::new(name);
        for run in records {
            own.add_record(run);
        }
        own
    });
    from_own(&own.collect::<Vec<_>>())
}

/// The same of runs of which only what a comparison needs was kept.
pub fn from_own(arms: &[OwnRuns]) -> Result<Input, Refusal> {
    let ran_on = arms.iter().map(|arm| OnHosts {
        name: arm.name.clone(),
        runs: arm.runs.iter().map(|run| run.shared.host.clone()).collect(),
    });
    let ran_on: Vec<OnHosts> = ran_on.collect();
    let by_host = hosts::are_blocks(&ran_on)?;
    let mut notes = Vec::new();
    let named = arms.iter().map(|arm| ArmRuns {
        name: arm.name.clone(),
        runs: (1..)
            .zip(&arm.runs)
            .map(|(index, run)| RunFigures {
                block: index.to_string(),
                figures: run.figures.clone(),
                ended_unix_s: run.ended_unix_s,
                simulated: run.shared.simulated.clone(),
                work: Arc::clone(&run.shared.work),
                flaws: run.flaws.clone(),
                content: Some(run.content),
            })
            .collect(),
    });
    let mut named: Vec<ArmRuns> = named.collect();
    if by_host {
        hosts::number(&mut named, &ran_on);
    }
    // Before copies are left out, which changes the numbers of runs.
    let by_order = order_note(&named);
    for arm in &mut named {
        notes.extend(drop_copies(&mut arm.runs, &arm.name));
    }
    let (mut not_alternated, mut order_note) = (None, None);
    match if by_host { Order::Unknown } else { order(&mut named) } {
        Order::NotAlternated(how) => not_alternated = Some(how),
        Order::Alternated => order_note = Some(ALTERNATED.to_owned()),
        Order::Unknown if by_host => order_note = Some(hosts::BLOCKS.to_owned()),
        Order::Unknown => order_note = by_order,
    }
    let arm_names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    let marked = (0_usize..)
        .zip(arms)
        .flat_map(|(index, arm)| arm.runs.iter().map(move |run| (index, &run.shared.marks[..])));
    notes.extend(marks::notes(&arm_names, &marked.collect::<Vec<_>>()));
    checked(Input {
        provenance: provenance(arms),
        attached: attached(arms),
        not_alternated,
        order_note,
        by_host,
        ..Input::new(Source::Runs, named, notes)
    })
}

/// Takes out runs that are another one again, figure by figure: a copy is no second run.
///
/// Runs in virtual time differ in their seeds; two on a real drive never agree in every count of
/// their latencies.
fn drop_copies(runs: &mut Vec<RunFigures>, name: &str) -> Option<String> {
    let (mut seen, all) = (BTreeSet::new(), runs.len());
    runs.retain(|run| seen.insert(run.content));
    let copies = all - runs.len();
    (copies > 0).then(|| {
        format!("{copies} of {all} runs of `{name}` are copies of another run and were ignored.")
    })
}

/// Runs in virtual time are known to be simulated: equal values are to be expected of them, and no
/// sign of copies. Only where a seed comes again in an arm, the run may be one.
fn provenance(arms: &[OwnRuns]) -> Provenance {
    let is_simulated =
        |run: &OwnRun| run.shared.host.is_none() && run.shared.marks.contains(&MarkId::Modelled);
    let simulated = arms.iter().all(|arm| {
        let mut seeds = BTreeSet::new();
        // Simulated runs with one seed are the same run.
        arm.runs.iter().all(|run| is_simulated(run) && seeds.insert(run.seed))
    });
    if simulated { Provenance::Simulated } else { Provenance::Unknown }
}

fn attached(arms: &[OwnRuns]) -> Question {
    let named =
        arms.iter().map(|arm| ArmSettings { name: arm.name.clone(), ..ArmSettings::default() });
    let samples = (0_usize..).zip(arms).flat_map(|(index, arm)| {
        let facts = arm.facts.iter().cloned();
        facts.map(move |facts| Sample { arm: index, group: 0, facts })
    });
    Question {
        arms: named.collect(),
        pairs: (1..arms.len()).map(|to| (0, to)).collect(),
        samples: samples.collect(),
        ..Question::default()
    }
}
