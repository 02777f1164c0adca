//! Stored runs as arms.

use std::collections::{BTreeMap, BTreeSet};

use drivelab_core::Refusal;
use drivelab_core::record::{Figure, MarkId, RunRecord, Work};
use drivelab_stats::Provenance;

use super::hosts::{self, OnHosts};
use super::sequence::{ALTERNATED, Order, order};
use super::{ArmRuns, Input, RunFigures, Source, checked, in_order, order_note};
use crate::attachment::{self, ArmSettings, Question, Sample};
use crate::run::Dated;
use crate::{marks, run, validity};

/// Puts stored runs side by side, each arm by the name given.
///
/// Runs of different machines are refused, because what differs may be the machine, unless every
/// arm has runs of every machine: then each machine is held against itself.
pub fn from_runs(arms: &[(String, Vec<Dated>)]) -> Result<Input, Refusal> {
    let ran_on = arms.iter().map(|(name, records)| {
        let host = |run: &Dated| run.record.host.as_ref().map(|host| host.id.clone());
        OnHosts { name: name.clone(), runs: records.iter().map(host).collect() }
    });
    let ran_on: Vec<OnHosts> = ran_on.collect();
    let by_host = hosts::are_blocks(&ran_on)?;
    let mut notes = Vec::new();
    let named = arms.iter().map(|(name, records)| {
        let figures = records.iter().map(|run| figures(&run.record)).collect();
        let mut runs = in_order(figures);
        for (run, Dated { record, ended_unix_s }) in runs.iter_mut().zip(records) {
            run.simulated = record.specimen.clone().map(|drive| (record.target.clone(), drive));
            run.ended_unix_s = *ended_unix_s;
            run.work = Work::of(record);
            run.flaws = validity::flaws(record);
        }
        ArmRuns { name: name.clone(), runs }
    });
    let mut named: Vec<ArmRuns> = named.collect();
    if by_host {
        hosts::number(&mut named, &ran_on);
    }
    let by_order = order_note(&named);
    for (arm, (name, records)) in named.iter_mut().zip(arms) {
        notes.extend(drop_copies(&mut arm.runs, name, records));
    }
    let (mut not_alternated, mut order_note) = (None, None);
    match if by_host { Order::Unknown } else { order(&mut named) } {
        Order::NotAlternated(how) => not_alternated = Some(how),
        Order::Alternated => order_note = Some(ALTERNATED.to_owned()),
        Order::Unknown if by_host => order_note = Some(hosts::BLOCKS.to_owned()),
        Order::Unknown => order_note = by_order,
    }
    let arm_names: Vec<&str> = arms.iter().map(|(name, _)| name.as_str()).collect();
    let marked = arms.iter().enumerate().flat_map(|(arm, (_, records))| {
        let ids = |run: &Dated| run.record.marks.iter().map(|mark| mark.id).collect();
        records.iter().map(move |run| (arm, ids(run)))
    });
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
fn drop_copies(runs: &mut Vec<RunFigures>, name: &str, records: &[Dated]) -> Option<String> {
    let is_same = |one: &RunRecord, other: &RunRecord| {
        (&one.target, &one.config) == (&other.target, &other.config)
            && (&one.total, &one.phases) == (&other.total, &other.phases)
    };
    // Copies have the same seed and the same rate: few of many runs are compared whole.
    let rate = |record: &RunRecord| record.total.as_ref().map(|total| total.iops.to_bits());
    let mut alike: BTreeMap<(u64, Option<u64>), Vec<&RunRecord>> = BTreeMap::new();
    let mut records_left = records.iter().map(|run| &run.record);
    runs.retain(|_| {
        let record = records_left.next().expect("one record a run");
        let earlier = alike.entry((record.config.seed, rate(record))).or_default();
        let is_new = !earlier.iter().any(|earlier| is_same(earlier, record));
        if is_new {
            earlier.push(record);
        }
        is_new
    });
    let copies = records.len() - runs.len();
    (copies > 0).then(|| {
        format!(
            "{copies} of {} runs of `{name}` are copies of another run and were ignored.",
            records.len()
        )
    })
}

/// Runs in virtual time are known to be simulated: equal values are to be expected of them, and no
/// sign of copies. Only where a seed comes again in an arm, the run may be one.
fn provenance(arms: &[(String, Vec<Dated>)]) -> Provenance {
    let is_simulated = |record: &RunRecord| {
        record.host.is_none() && record.marks.iter().any(|mark| mark.id == MarkId::Modelled)
    };
    let are_own = |runs: &[Dated]| {
        let mut seeds = BTreeSet::new();
        let mut records = runs.iter().map(|run| &run.record);
        records.all(|record| is_simulated(record) && seeds.insert(record.config.seed))
    };
    let simulated = arms.iter().all(|(_, records)| are_own(records));
    if simulated { Provenance::Simulated } else { Provenance::Unknown }
}

fn attached(arms: &[(String, Vec<Dated>)]) -> Question {
    let named =
        arms.iter().map(|(name, _)| ArmSettings { name: name.clone(), ..ArmSettings::default() });
    let samples = arms.iter().enumerate().flat_map(|(arm, (_, records))| {
        let sample =
            move |run: &Dated| Sample { arm, group: 0, facts: attachment::facts(&run.record) };
        records.iter().map(sample)
    });
    Question {
        arms: named.collect(),
        pairs: (1..arms.len()).map(|to| (0, to)).collect(),
        samples: samples.collect(),
        ..Question::default()
    }
}

fn figures(record: &RunRecord) -> Vec<Figure> {
    let mut figures = run::metrics(record);
    for figure in &mut figures {
        figure.remarks.extend(marks::remarks(record));
    }
    figures
}
