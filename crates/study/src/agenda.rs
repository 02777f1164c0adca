//! Every run of a study, in the order in which they are made.

use std::collections::BTreeMap;

use drivelab_core::StageName;
use drivelab_core::plan::{Design, Plan, Step};
use drivelab_core::rng::Rng;

use crate::file::StudyFile;
use crate::stage::{PlannedRun, Task};

/// Every run of a study, in the order in which they are made.
#[derive(Debug)]
pub struct Agenda {
    runs: Vec<(Step, Task)>,
    indices: BTreeMap<(u32, usize, u32, Task), usize>,
    /// Number of runs in one stay of an arm.
    stay: usize,
}

impl Agenda {
    /// The runs of `study` as `plan` orders them.
    pub fn new(study: &StudyFile, plan: &Plan) -> Self {
        let all = tasks(study);
        let mut runs = Vec::with_capacity(plan.steps.len() * all.len());
        for step in &plan.steps {
            // Every arm of a block does its all in the same order, so that the effects of one
            // task on the next meet every arm alike.
            let mut order = all.clone();
            Rng::for_part(study.seed, u64::from(step.block) << 32).shuffle(&mut order);
            runs.extend(order.into_iter().map(|task| (*step, task)));
        }
        let keys = runs.iter().map(|(step, task)| key(step, *task));
        let indices = keys.zip(0..).collect();
        Self { runs, indices, stay: all.len() }
    }

    /// The number of runs.
    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// The index of a run; `None` where the study has no such run.
    pub fn index(&self, step: &Step, task: Task) -> Option<usize> {
        let index = *self.indices.get(&key(step, task))?;
        debug_assert!(index < self.runs.len());
        (self.runs[index].0 == *step).then_some(index)
    }

    /// The stays of arms, one after the other, each with its runs and their indices.
    pub fn stays(&self) -> impl Iterator<Item = (&Step, Vec<(usize, Task)>)> {
        // Each stay has all tasks once, so stays are chunks of equal size.
        let stays = self.runs.chunks(self.stay.max(1)).zip((0..).step_by(self.stay.max(1)));
        stays.map(|(runs, first)| {
            let runs_of_stay = runs.iter().zip(first..).map(|((_, task), index)| (index, *task));
            (&runs[0].0, runs_of_stay.collect())
        })
    }
}

fn key(step: &Step, task: Task) -> (u32, usize, u32, Task) {
    (step.block, step.arm, step.repeat, task)
}

/// Everything that one stay of an arm does.
fn tasks(study: &StudyFile) -> Vec<Task> {
    let workloads = (0..study.workloads.len()).map(Task::Workload);
    let points = study.curve.as_ref().map_or(0, |curve| curve.depths.len());
    let cells = (0..study.cells.len()).map(Task::Cell);
    workloads.chain((0..points).map(Task::Curve)).chain(cells).collect()
}

/// The request to the stage for a run.
pub fn planned(study: &StudyFile, step: &Step, task: Task) -> PlannedRun {
    PlannedRun {
        arm: step.arm,
        task,
        seed: seed(study, step, task),
        specimen: study.draws_specimens.then_some(step.block),
    }
}

/// The seed of a run: the same for every arm of a block, so that all see the same addresses.
fn seed(study: &StudyFile, step: &Step, task: Task) -> u64 {
    let (block, repeat) = (u64::from(step.block), u64::from(step.repeat));
    // Disjoint bit fields: blocks, repeats and workloads never share a seed.
    let of_step = (block << 32) | (repeat << 16);
    let part = match task {
        Task::Workload(index) => of_step | study.workloads[index].number as u64,
        // A curve is one experiment over depth: every depth sees the same addresses.
        Task::Curve(_) => of_step | u64::from(u16::MAX),
        // And a matrix one over all that it varies.
        Task::Cell(_) => (repeat << 32) | block,
    };
    Rng::for_part(study.seed, part).bits()
}

/// The run, in words.
pub fn describe(study: &StudyFile, step: &Step, task: Task) -> String {
    let block = step.block + 1;
    let what = match task {
        Task::Workload(index) => study.workloads[index].name.clone(),
        Task::Curve(index) => {
            let depth = study.curve.as_ref().map_or(0, |curve| curve.depths[index].0);
            format!("depth {depth}")
        }
        Task::Cell(index) => study
            .matrix
            .as_ref()
            .map_or_else(String::new, |matrix| study.cells[index].words(matrix)),
    };
    if study.is_matrix_alone() {
        return format!("block {block}: {what}");
    }
    format!("block {block}: {}, {what}", study.arms[step.arm].name)
}

/// Each arm that the user sets up by hand costs a reboot, so there are fewer blocks.
pub fn plan(study: &StudyFile) -> Plan {
    let by_hand = study.arms.iter().any(|arm| arm.manual.is_some());
    let grouped = by_hand && study.stage == StageName::Hardware;
    let design = if grouped { Design::Grouped } else { Design::Interleaved };
    Plan::new(design, study.arms.len(), study.blocks, study.seed)
}
