//! Stored runs as arms.

use std::collections::BTreeSet;

use drivelab_core::Refusal;
use drivelab_core::record::{Figure, Label, MarkId, Nature, Remark, RunRecord};
use drivelab_stats::Provenance;

use super::{ArmRuns, Input, RunFigures, Source, checked, in_order, order_note};
use crate::attachment::{self, ArmSettings, Question, Sample};
use crate::{marks, run};

/// Puts stored runs side by side, each arm by the name given.
///
/// Runs of different machines are refused: what differs may be the machine.
pub fn from_runs(arms: &[(String, Vec<RunRecord>)]) -> Result<Input, Refusal> {
    same_host(arms)?;
    let mut notes = work_note(arms);
    let named = arms.iter().map(|(name, records)| {
        let figures = records.iter().map(figures).collect();
        let mut runs = in_order(figures);
        for (run, record) in runs.iter_mut().zip(records) {
            run.simulated = record.specimen.clone().map(|drive| (record.target.clone(), drive));
        }
        ArmRuns { name: name.clone(), runs }
    });
    let mut named: Vec<ArmRuns> = named.collect();
    notes.extend(order_note(&named));
    for (arm, (name, records)) in named.iter_mut().zip(arms) {
        notes.extend(drop_copies(&mut arm.runs, name, records));
    }
    let arm_names: Vec<&str> = arms.iter().map(|(name, _)| name.as_str()).collect();
    let marked = arms.iter().enumerate().flat_map(|(arm, (_, records))| {
        let ids = |run: &RunRecord| run.marks.iter().map(|mark| mark.id).collect();
        records.iter().map(move |run| (arm, ids(run)))
    });
    notes.extend(marks::notes(&arm_names, &marked.collect::<Vec<_>>()));
    checked(Input {
        provenance: provenance(arms),
        attached: attached(arms),
        ..Input::new(Source::Runs, named, notes)
    })
}

/// Takes out runs that are another one again, figure by figure: a copy is no second run.
///
/// Runs in virtual time differ in their seeds; two on a real drive never agree in every count of
/// their latencies.
fn drop_copies(runs: &mut Vec<RunFigures>, name: &str, records: &[RunRecord]) -> Option<String> {
    let is_same = |one: &RunRecord, other: &RunRecord| {
        (&one.target, &one.config) == (&other.target, &other.config)
            && (&one.total, &one.phases) == (&other.total, &other.phases)
    };
    let is_copy =
        |place: usize| records[..place].iter().any(|earlier| is_same(earlier, &records[place]));
    let mut places = 0..records.len();
    runs.retain(|_| !is_copy(places.next().expect("one record a run")));
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
fn provenance(arms: &[(String, Vec<RunRecord>)]) -> Provenance {
    let is_simulated = |record: &RunRecord| {
        record.host.is_none() && record.marks.iter().any(|mark| mark.id == MarkId::Modelled)
    };
    let are_own = |records: &[RunRecord]| {
        let mut seeds = BTreeSet::new();
        records.iter().all(|record| is_simulated(record) && seeds.insert(record.config.seed))
    };
    let simulated = arms.iter().all(|(_, records)| are_own(records));
    if simulated { Provenance::Simulated } else { Provenance::Unknown }
}

fn attached(arms: &[(String, Vec<RunRecord>)]) -> Question {
    let named =
        arms.iter().map(|(name, _)| ArmSettings { name: name.clone(), ..ArmSettings::default() });
    let samples = arms.iter().enumerate().flat_map(|(arm, (_, records))| {
        records.iter().map(move |run| Sample { arm, group: 0, facts: attachment::facts(run) })
    });
    Question {
        arms: named.collect(),
        pairs: (1..arms.len()).map(|to| (0, to)).collect(),
        samples: samples.collect(),
        ..Question::default()
    }
}

/// Modelled runs have no machine and may be held against any.
fn same_host(arms: &[(String, Vec<RunRecord>)]) -> Result<(), Refusal> {
    let hosts = arms.iter().flat_map(|(name, records)| {
        let hosts = records.iter().filter_map(|record| record.host.as_ref());
        hosts.map(move |host| (name, host.id.as_str()))
    });
    let mut known: Option<(&String, &str)> = None;
    for (name, id) in hosts {
        match known {
            None => known = Some((name, id)),
            Some((_, first)) if first == id => {}
            Some((first, _)) => {
                return Err(Refusal::request(format!(
                    "`{first}` and `{name}` ran on different machines, which may cause the \
                     difference; run both on one machine"
                )));
            }
        }
    }
    Ok(())
}

/// A note where the arms did not do the same work, which may be the question or a slip.
fn work_note(arms: &[(String, Vec<RunRecord>)]) -> Vec<String> {
    let mut works = arms.iter().flat_map(|(_, records)| records).map(|r| &r.config.workload);
    let Some(first) = works.next() else { return Vec::new() };
    let note = "The runs did not all do the same work (kind, block size, depth, region or time \
                differ): the ratios also reflect the difference in work.";
    if works.all(|work| work == first) { Vec::new() } else { vec![note.to_owned()] }
}

fn figures(record: &RunRecord) -> Vec<Figure> {
    let marks = record.marks.iter();
    let marked = marks.filter_map(|m| Some(Remark::new(label(m.id)?, m.message.clone())));
    let marked: Vec<Remark> = marked.collect();
    let mut figures = run::metrics(record);
    for figure in &mut figures {
        figure.remarks.extend(marked.iter().cloned());
    }
    figures
}

/// Marks that say what a number is; the others are told as notes.
fn label(mark: MarkId) -> Option<Label> {
    match (mark, mark.nature()) {
        (MarkId::NotDisk, _) => Some(Label::NotDisk),
        // What the drive's own cache does is the drive's.
        (_, None | Some(Nature::DriveCache)) => None,
        (_, Some(nature)) => Some(Label::Nature(nature)),
    }
}
