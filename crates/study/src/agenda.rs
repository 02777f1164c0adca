//! Every run of a study, in the order in which they are made.

use std::collections::BTreeMap;

use drivelab_core::plan::{Plan, Step};
use drivelab_core::rng::Rng;

use crate::file::StudyFile;
use crate::stage::Task;

/// Every run of a study, in the order in which they are made.
#[derive(Debug)]
pub struct Agenda {
    runs: Vec<(Step, Task)>,
    places: BTreeMap<(u32, usize, u32, Task), usize>,
    /// Runs that one stay of an arm makes.
    stay: usize,
}

impl Agenda {
    /// The runs of `study` as `plan` orders them.
    pub fn new(study: &StudyFile, plan: &Plan) -> Self {
        let tasks = tasks(study);
        let mut runs = Vec::with_capacity(plan.steps.len() * tasks.len());
        for step in &plan.steps {
            // Every arm of a block does its tasks in the same order, so that what one task leaves
            // behind meets every arm alike.
            let mut order = tasks.clone();
            Rng::for_part(study.seed, u64::from(step.block) << 32).shuffle(&mut order);
            runs.extend(order.into_iter().map(|task| (*step, task)));
        }
        let keys = runs.iter().map(|(step, task)| key(step, *task));
        let places = keys.zip(0..).collect();
        Self { runs, places, stay: tasks.len() }
    }

    /// How many runs there are.
    pub fn count(&self) -> usize {
        self.runs.len()
    }

    /// The place of a run; `None` where the study has no such run.
    pub fn place(&self, step: &Step, task: Task) -> Option<usize> {
        let place = *self.places.get(&key(step, task))?;
        (self.runs[place].0 == *step).then_some(place)
    }

    /// The stays of arms, one after the other, each with its runs and their places.
    pub fn stays(&self) -> impl Iterator<Item = (&Step, Vec<(usize, Task)>)> {
        let stays = self.runs.chunks(self.stay.max(1)).zip((0..).step_by(self.stay.max(1)));
        stays.map(|(runs, first)| {
            let places = runs.iter().zip(first..).map(|((_, task), place)| (place, *task));
            (&runs[0].0, places.collect())
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
