//! Why figures of a study may not decide: neither a verdict nor a finding rests on them.

use super::super::blocks::Blocks;
use super::super::{Experiment, lost};
use crate::outcome::{Outcome, Series, Withheld};
use crate::validity::{self, OfArm, Reason};

/// The reasons to give no verdict, by workload and arm.
pub(super) struct Doubts<'a> {
    experiment: &'a Experiment,
    blocks: &'a Blocks<'a>,
    /// The flaws of each workload's runs.
    flaws: Vec<Vec<Reason>>,
}

impl<'a> Doubts<'a> {
    pub(super) fn of(experiment: &'a Experiment, blocks: &'a Blocks<'a>) -> Self {
        let flaws = (0..experiment.workloads.len())
            .map(|workload| {
                let mut arms: Vec<OfArm<'_>> = Vec::with_capacity(experiment.arms.len());
                for (index, arm) in experiment.arms.iter().enumerate() {
                    let runs = experiment.runs.iter();
                    let runs = runs.filter(|run| (run.workload, run.arm) == (workload, index));
                    let runs = runs.map(|run| &run.flaws[..]).collect();
                    arms.push(OfArm { name: &arm.name, runs });
                }
                // Blocks with void runs are left out already.
                validity::reasons(&arms, false)
            })
            .collect();
        Self { experiment, blocks, flaws }
    }

    /// The comparisons that the flaws concern.
    pub(super) fn withheld(&self, series: &[Series], outcomes: &[Outcome]) -> Vec<Withheld> {
        self.flaws
            .iter()
            .enumerate()
            .flat_map(|(workload, reasons)| {
                let withheld = reasons.iter().cloned().map(|reason| {
                    reason.concerning(outcomes, |it| series[it.series].workload == workload)
                });
                withheld.collect::<Vec<_>>()
            })
            .collect()
    }

    /// Returns why a figure of these arms in a workload may not decide, and what to do about it.
    pub(super) fn about(&self, workload: usize, arms: &[usize]) -> Option<String> {
        let flaw = self.flaws[workload].iter().find(|reason| arms.contains(&reason.arm));
        let flaw = flaw.map(|Reason { message, hint, .. }| format!("{message}; {hint}"));
        flaw.or_else(|| lost::selection(self.experiment, self.blocks, workload, arms))
    }
}
