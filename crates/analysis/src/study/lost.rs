//! Runs that do not count: no request completed, a command failed, or the host that served the
//! drive was too late. The blocks they are in are left out, and a note says so.
//!
//! An arm that stalls for a whole run would otherwise be judged by the blocks in which it did not,
//! so that a stall makes it look no worse.

use std::collections::{BTreeMap, BTreeSet};

use drivelab_stats::{Warning, WarningId};

use super::blocks::{Blocks, Cell};
use super::{Experiment, WorkloadInfo};
use crate::figures::capital;
use crate::outcome::{Outcome, Series};

/// Advice on runs that are too short.
const LONGER: &str = "start a new study with a longer `runtime`";

/// Advice on figures of which no ratio can be made.
const ABOVE_ZERO: &str = "arms are compared by ratios: choose a figure that is always above 0";

/// Advice on commands that fail.
const SEE_OUTPUT: &str = "the folder `output` of the results has what it printed";

/// Advice on a host that is too late.
const QUIETER: &str =
    "run nothing else on this host, use a quieter one, or let `--stage simulate` measure the drive";

/// The [`reasons`] as sentences.
pub(super) fn notes(experiment: &Experiment, blocks: &Blocks) -> Vec<String> {
    reasons(experiment, blocks).into_iter().map(|reason| format!("{}.", capital(&reason))).collect()
}

/// The runs that do not count, by arm and workload, with the reasons and the remedies.
pub(super) fn reasons(experiment: &Experiment, blocks: &Blocks) -> Vec<String> {
    let empty = of_kind(experiment, blocks, &blocks.empty, |arm, name, which| {
        let mut workloads = experiment.workloads.iter();
        match workloads.find(|workload| workload.name == name && !workload.is_load()) {
            None => (format!("`{arm}` completed no request of `{name}` in {which}"), LONGER),
            Some(WorkloadInfo { headline, .. }) => {
                (format!("`{arm}` has no `{name}.{headline}` above 0 in {which}"), ABOVE_ZERO)
            }
        }
    });
    let void = of_kind(experiment, blocks, &blocks.void, |arm, name, which| {
        (format!("the host served `{arm}` too late in `{name}` of {which}"), QUIETER)
    });
    let failed = of_kind(experiment, blocks, &blocks.failed, |arm, name, which| {
        (format!("the command of `{name}` failed in `{arm}` in {which}"), SEE_OUTPUT)
    });
    [empty, failed, void].concat()
}

fn of_kind(
    experiment: &Experiment,
    blocks: &Blocks,
    lost: &BTreeSet<Cell>,
    words: impl Fn(&str, &str, &str) -> (String, &'static str),
) -> Vec<String> {
    let mut by_workload: BTreeMap<(usize, usize), Vec<u32>> = BTreeMap::new();
    for (workload, arm, block) in lost {
        by_workload.entry((*workload, *arm)).or_default().push(*block);
    }
    by_workload
        .into_iter()
        .map(|((workload, arm), empty)| {
            let (arm, name) = (&experiment.arms[arm].name, &experiment.workloads[workload].name);
            let left_out = match (blocks.workloads.contains(&workload), empty.len()) {
                (false, _) => "",
                (true, 1) => ", which is ignored",
                (true, _) => ", which are ignored",
            };
            let (what, remedy) = words(arm, name, &numbers(&empty));
            format!("{what}{left_out}: {remedy}")
        })
        .collect()
}

/// One block in this many may be lost to a late host, and no more. Where more than a fifth of a
/// sample is missing, what is left is no longer taken to be like it (Schulz and Grimes, Lancet 359,
/// 2002: 781-785); blocks are lost where the host was slow, which is not by chance.
const VOID_OF: usize = 5;

/// Withholds verdicts that rest on a selection of the blocks.
pub(super) fn withhold(
    experiment: &Experiment,
    blocks: &Blocks,
    series: &[Series],
    outcomes: &mut [Outcome],
) {
    withhold_void(blocks, outcomes);
    withhold_empty(experiment, blocks, series, outcomes);
}

/// All verdicts where too many blocks are lost to void runs: all rest on the same blocks.
fn withhold_void(blocks: &Blocks, outcomes: &mut [Outcome]) {
    let Some(why) = too_many_void(blocks) else { return };
    let advice = format!("{why}, so the verdict is withheld; {QUIETER}");
    for outcome in outcomes {
        outcome.withhold(Warning::new(WarningId::RunsVoid, advice.clone()));
    }
}

/// Returns a clause where more blocks are lost to void runs than a verdict survives.
fn too_many_void(blocks: &Blocks) -> Option<String> {
    let lost: BTreeSet<u32> = blocks
        .void
        .iter()
        .filter(|(workload, _, block)| {
            blocks.workloads.contains(workload) && blocks.finished.contains(block)
        })
        .map(|cell| cell.2)
        .collect();
    (lost.len() * VOID_OF > blocks.finished.len()).then(|| {
        format!(
            "runs were void in {} of {} blocks, more than one in five: the blocks that are left \
             are a selection",
            lost.len(),
            blocks.finished.len(),
        )
    })
}

/// The verdict on two arms of which one completed nothing, or failed, in a block in which the other
/// completed something.
fn withhold_empty(
    experiment: &Experiment,
    blocks: &Blocks,
    series: &[Series],
    outcomes: &mut [Outcome],
) {
    for outcome in outcomes {
        let workload = series[outcome.series].workload;
        for clause in alone(experiment, blocks, workload, &[outcome.from, outcome.to]) {
            let advice = format!("{clause}: the verdict is withheld");
            outcome.withhold(Warning::new(WarningId::RunsEmpty, advice));
        }
    }
}

/// Returns a clause for each of these arms that completed nothing, or failed, in a block in which
/// another of them completed something; for a lone arm, in any block.
fn alone(experiment: &Experiment, blocks: &Blocks, workload: usize, arms: &[usize]) -> Vec<String> {
    let mut all: Vec<BTreeSet<u32>> = Vec::with_capacity(arms.len());
    for arm in arms {
        let cells = blocks.empty.union(&blocks.failed);
        let own = cells.filter(|cell| (cell.0, cell.1) == (workload, *arm));
        all.push(own.map(|(_, _, block)| *block).collect());
    }
    let info = &experiment.workloads[workload];
    let mut clauses = Vec::new();
    for (arm, own) in arms.iter().zip(&all) {
        // A block that every arm lost selects none of them.
        let alone: Vec<u32> = own
            .iter()
            .copied()
            .filter(|block| arms.len() < 2 || !all.iter().all(|own| own.contains(block)))
            .collect();
        if alone.is_empty() {
            continue;
        }
        let has_failed = alone.iter().any(|it| blocks.failed.contains(&(workload, *arm, *it)));
        let what = if has_failed {
            "failed".to_owned()
        } else if info.is_load() {
            "completed no request".to_owned()
        } else {
            format!("has no `{}` above 0", info.headline)
        };
        clauses.push(format!(
            "`{}` {what} in {}, so these figures cover only the other blocks",
            experiment.arms[*arm].name,
            numbers(&alone),
        ));
    }
    clauses
}

/// Returns why the blocks that are left say too little of these arms in a workload.
pub(super) fn selection(
    experiment: &Experiment,
    blocks: &Blocks,
    workload: usize,
    arms: &[usize],
) -> Option<String> {
    let empty = alone(experiment, blocks, workload, arms).into_iter().next();
    empty.or_else(|| too_many_void(blocks))
}

/// `block 5`, `blocks 2, 5`; people count from 1.
fn numbers(blocks: &[u32]) -> String {
    let numbers: Vec<String> = blocks.iter().map(|block| (block + 1).to_string()).collect();
    let noun = if blocks.len() == 1 { "block" } else { "blocks" };
    format!("{noun} {}", numbers.join(", "))
}
