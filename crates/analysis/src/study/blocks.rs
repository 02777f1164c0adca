//! The blocks that count, and the one value that each holds of a metric in an arm.

use std::collections::{BTreeMap, BTreeSet};

use drivelab_core::record::{Figure, MarkId};
use drivelab_core::{Invalid, invalid};

use super::{Experiment, RunSample};
use crate::metric;
use crate::outcome::{Series, geometric_mean};
use crate::specimens::{Sampled, Simulated};

pub(super) type Cell = (usize, usize, u32);

/// The runs of an experiment by workload, arm and block.
pub(super) struct Blocks<'a> {
    experiment: &'a Experiment,
    /// Repeats inside a block stand together.
    cells: BTreeMap<Cell, Vec<&'a RunSample>>,
    /// Cells in which no request of some run completed; none of its repeats counts.
    pub empty: BTreeSet<Cell>,
    /// Cells in which the command of some run failed; no repeat counts.
    pub failed: BTreeSet<Cell>,
    /// Cells with a void run: it measured the host that served the drive; no repeat counts.
    pub void: BTreeSet<Cell>,
    /// Workloads of which every arm completed something at least once.
    pub workloads: Vec<usize>,
    /// Blocks that have nothing left to run, ascending.
    pub finished: Vec<u32>,
    /// Blocks in which every arm ran each of these workloads, ascending.
    pub used: Vec<u32>,
}

pub(super) struct LeftOut {
    /// `workload.metric`.
    pub name: String,
    pub why: String,
}

impl<'a> Blocks<'a> {
    /// Sorts the runs.
    ///
    /// # Panics
    /// If a run names an arm or a workload that the experiment has not.
    pub(super) fn new(experiment: &'a Experiment) -> Self {
        let (arms, workloads) = (experiment.arms.len(), experiment.workloads.len());
        let mut cells: BTreeMap<_, Vec<&RunSample>> = BTreeMap::new();
        for run in &experiment.runs {
            assert!(run.arm < arms, "a run of arm {} of {arms}", run.arm);
            assert!(run.workload < workloads, "a run of workload {} of {workloads}", run.workload);
            cells.entry((run.workload, run.arm, run.block)).or_default().push(run);
        }
        // In this order: a cell that is taken out has one reason, the first.
        let void = take_out(&mut cells, |run| run.marks.contains(&MarkId::Void));
        let failed = take_out(&mut cells, |run| run.marks.contains(&MarkId::Failed));
        let empty = take_out(&mut cells, |run| is_empty(experiment, run));
        let workloads: Vec<usize> = (0..workloads)
            .filter(|w| {
                // Blocks of any number: one good run of each arm is enough.
                (0..arms)
                    .all(|arm| cells.range((*w, arm, 0)..=(*w, arm, u32::MAX)).next().is_some())
            })
            .collect();
        let mut blocks: Vec<u32> = experiment.runs.iter().map(|run| run.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let lost = [&empty, &failed, &void];
        blocks.retain(|block| {
            is_whole((&workloads, arms), *block, |cell| {
                cells.contains_key(cell) || lost.iter().any(|cells| cells.contains(cell))
            })
        });
        let finished = blocks.clone();
        blocks
            .retain(|block| is_whole((&workloads, arms), *block, |cell| cells.contains_key(cell)));
        Self { experiment, cells, empty, failed, void, workloads, finished, used: blocks }
    }

    pub(super) fn has_lost(&self, workload: usize) -> bool {
        self.lost().any(|cell| cell.0 == workload)
    }

    /// Every cell that does not count.
    pub(super) fn lost(&self) -> impl Iterator<Item = &Cell> {
        self.empty.iter().chain(&self.failed).chain(&self.void)
    }

    /// The arm that ran first in each block that counts.
    ///
    /// # Panics
    /// If no workload ran in every arm.
    pub(super) fn first_arms(&self) -> Vec<usize> {
        let workload = self.workloads[0];
        let mut first = Vec::with_capacity(self.used.len());
        for block in &self.used {
            let arms = 0..self.experiment.arms.len();
            let earliest = arms.min_by_key(|arm| self.cells[&(workload, *arm, *block)][0].position);
            first.push(earliest.expect("a study has arms"));
        }
        first
    }

    /// The drives that the blocks simulated.
    pub(super) fn sampled(&self) -> Sampled<'a> {
        let arms = self.experiment.arms.iter();
        let mut sampled = Sampled::of(arms.map(|arm| arm.name.clone()));
        for workload in &self.workloads {
            for arm in 0..self.experiment.arms.len() {
                let runs = self.used.iter().map(|block| self.cells[&(*workload, arm, *block)][0]);
                sampled.note(
                    *workload,
                    arm,
                    runs.map(|run| {
                        let specimen = run.specimen.as_ref()?;
                        Some(Simulated { target: &run.target, specimen })
                    }),
                );
            }
        }
        sampled
    }

    /// Every metric of a workload that all its runs report, and those that cannot be compared.
    pub(super) fn series(&self, workload: usize) -> (Vec<Series>, Vec<LeftOut>) {
        let (mut series, mut left_out) = (Vec::new(), Vec::new());
        for metric in self.metrics(workload) {
            let name = format!("{}.{metric}", self.experiment.workloads[workload].name);
            match self.values(workload, metric) {
                Ok(values) => {
                    let figure = self.first(workload, metric);
                    series.push(Series {
                        name,
                        metric: metric.to_owned(),
                        workload,
                        better: metric::better(figure.better),
                        margin: metric::margin(metric, self.experiment.margin),
                        unit: figure.unit.clone(),
                        values,
                    });
                }
                Err(Invalid(why)) => left_out.push(LeftOut { name, why }),
            }
        }
        (series, left_out)
    }

    /// The names of all metrics of a workload, in the order in which they first occur.
    fn metrics(&self, workload: usize) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for run in self.runs(workload) {
            for metric in &run.metrics {
                if !names.contains(&metric.name.as_str()) {
                    names.push(&metric.name);
                }
            }
        }
        names
    }

    fn runs(&self, workload: usize) -> impl Iterator<Item = &'a RunSample> + '_ {
        let of_workload = self.cells.range((workload, 0, 0)..(workload + 1, 0, 0));
        of_workload
            .filter(|((_, _, block), _)| self.used.contains(block))
            .flat_map(|(_, r)| r.iter().copied())
    }

    fn first(&self, workload: usize, metric: &str) -> &'a Figure {
        let mut metrics = self.runs(workload).flat_map(|run| &run.metrics);
        metrics.find(|m| m.name == metric).expect("taken from these runs")
    }

    /// One value an arm and block: repeats are averaged as logarithms, because the block is the
    /// unit and ratios are what is compared.
    fn values(&self, workload: usize, metric: &str) -> Result<Vec<Vec<f64>>, Invalid> {
        (0..self.experiment.arms.len())
            .map(|arm| {
                let cells = self.used.iter().map(|block| self.value(workload, arm, *block, metric));
                cells.collect::<Result<Vec<f64>, Invalid>>()
            })
            .collect()
    }

    fn location(&self, arm: usize, block: u32) -> String {
        format!("in block {} of `{}`", block + 1, self.experiment.arms[arm].name)
    }

    fn value(&self, workload: usize, arm: usize, block: u32, metric: &str) -> Result<f64, Invalid> {
        let runs = &self.cells[&(workload, arm, block)];
        let mut values = Vec::with_capacity(runs.len());
        for run in runs {
            let found = run.metrics.iter().find(|m| m.name == metric);
            let value = found
                .ok_or_else(|| {
                    let why = metric::why_missing(metric);
                    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
                    format!("it is missing {}{why}", self.location(arm, block))
                })?
                .value;
            if !(value.is_finite() && value > 0.0) {
                return Err(invalid!(
                    "it is {value} {}: the run failed or was too short",
                    self.location(arm, block)
                ));
            }
            values.push(value);
        }
        // The block is the unit of analysis: its runs of one arm are averaged.
        Ok(geometric_mean(&values))
    }
}

fn take_out(
    cells: &mut BTreeMap<Cell, Vec<&RunSample>>,
    is_such: impl Fn(&RunSample) -> bool,
) -> BTreeSet<Cell> {
    let found = cells.iter().filter(|(_, runs)| runs.iter().any(|run| is_such(run)));
    let found: BTreeSet<Cell> = found.map(|(cell, _)| *cell).collect();
    cells.retain(|cell, _| !found.contains(cell));
    found
}

/// True if no request completed in time: there is no rate to make a ratio of, even where an answer
/// after the end gave a latency.
fn is_empty(experiment: &Experiment, run: &RunSample) -> bool {
    let headline = &experiment.workloads[run.workload].headline;
    let rate = run.metrics.iter().find(|metric| metric.name == *headline);
    // What is no number at all is refused as such.
    rate.is_none_or(|rate| rate.value <= 0.0)
}

/// True if a block has a cell of each of the `arms` for each workload.
fn is_whole((workloads, arms): (&[usize], usize), block: u32, has: impl Fn(&Cell) -> bool) -> bool {
    !workloads.is_empty() && workloads.iter().all(|w| (0..arms).all(|arm| has(&(*w, arm, block))))
}
