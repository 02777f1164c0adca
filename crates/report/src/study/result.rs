//! What an experiment showed: everything that text, JSON and page are made from.

use std::collections::BTreeSet;

use drivelab_stats::Verdict;

use super::Experiment;
use super::curve::{DepthCurve, LatencyCurve};
use super::declared::{FindingResult, InteractionResult, Price};
use super::hosts::OnHosts;
use crate::attachment::Difference;
use crate::outcome::{Outcome, Series, Together, Withheld};

/// The result of a study.
#[derive(Debug, Clone)]
pub struct StudyResult {
    pub(crate) experiment: Experiment,
    /// The blocks that count, ascending: in each, every arm ran every workload.
    pub(crate) used: Vec<u32>,
    /// Blocks that are finished, and left out because of a run that does not count.
    pub(crate) left_out: usize,
    /// The arm that the overall verdict is about, by place.
    pub(crate) candidate: usize,
    /// The comparison that decides, by its place in `outcomes`.
    pub(crate) primary: usize,
    /// Every metric of every workload with its values.
    pub(crate) series: Vec<Series>,
    /// Every metric and arm against the baseline.
    pub(crate) outcomes: Vec<Outcome>,
    /// How many comparisons hold together.
    pub(crate) together: Together,
    pub(crate) contrasts: Vec<ContrastResult>,
    /// Pairs of factors: first on the primary metric, then on the other headline metrics.
    pub(crate) interactions: Vec<InteractionResult>,
    /// What was stated, and whether it holds.
    pub(crate) findings: Vec<FindingResult>,
    pub(crate) prices: Vec<Price>,
    /// Latency distributions, all blocks together.
    pub(crate) latency: Vec<LatencyCurve>,
    pub(crate) depth: Vec<DepthCurve>,
    pub(crate) attached: Difference,
    /// Why figures may not decide, workload by workload.
    pub(crate) withheld: Vec<Withheld>,
    /// Each host compared with itself, where many made the runs.
    pub(crate) hosts: Option<OnHosts>,
    /// What else a reader must know: the experiment's own notes, and what the analysis left out.
    pub(crate) notes: Vec<String>,
}

/// What one cause contributes, on the headline metric of each workload.
#[derive(Debug, Clone, PartialEq)]
pub struct ContrastResult {
    /// The cause: `the host elevator`.
    pub(crate) name: String,
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// One outcome a workload.
    pub(crate) outcomes: Vec<Outcome>,
}

impl StudyResult {
    /// The arms' names.
    pub fn names(&self) -> Vec<&str> {
        self.experiment.arms.iter().map(|arm| arm.name.as_str()).collect()
    }

    /// The comparison that decides.
    pub fn primary(&self) -> &Outcome {
        &self.outcomes[self.primary]
    }

    /// What the study concludes: the verdict on the primary metric of the candidate.
    pub fn verdict(&self) -> Verdict {
        self.primary().verdict()
    }

    /// The first question whose answer depends on the drive: that of the primary metric, else one
    /// of its workload, else any headline.
    pub(crate) fn open(&self) -> Option<&Outcome> {
        let workload = self.series_of(self.primary()).workload;
        let contrasts = || self.contrasts.iter().flat_map(|contrast| &contrast.outcomes);
        let of_primary = contrasts().filter(|it| self.series_of(it).workload == workload);
        let headlines = self.outcomes.iter().filter(|it| self.is_headline(self.series_of(it)));
        let candidates =
            std::iter::once(self.primary()).chain(of_primary).chain(contrasts()).chain(headlines);
        candidates.into_iter().find(|it| it.depends())
    }

    /// The commands that would settle it, and whether they write.
    pub(crate) fn settle(&self) -> Option<([String; 3], bool)> {
        let foreseen = self.open()?.foreseen.as_ref()?;
        self.experiment.settle.as_ref()?.commands(foreseen)
    }

    /// A picture of that question, else of the primary metric: a dot for each simulated drive;
    /// nothing where there are none.
    pub fn drives_svg(&self) -> Option<String> {
        let outcome = self.open().unwrap_or(self.primary());
        crate::specimens::svg(outcome, self.series_of(outcome))
    }

    /// Whether blocks simulated different drives, so that there is a prediction for one more.
    pub(crate) fn is_sampled(&self) -> bool {
        self.outcomes.iter().any(|outcome| outcome.foreseen.is_some())
    }

    /// The depths at which curves were measured, ascending.
    pub(crate) fn depths(&self) -> Vec<u32> {
        let points = self.depth.iter().flat_map(|curve| &curve.points);
        points.map(|point| point.iodepth).collect::<BTreeSet<u32>>().into_iter().collect()
    }

    /// The series that an outcome is about.
    pub fn series_of(&self, outcome: &Outcome) -> &Series {
        &self.series[outcome.series]
    }

    /// Whether the series is the one shown first for its workload.
    pub fn is_headline(&self, series: &Series) -> bool {
        self.experiment.workloads[series.workload].headline == series.metric
    }

    /// The headline outcome of a workload for an arm, where there is one.
    pub fn headline(&self, workload: usize, arm: usize) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| {
            let series = self.series_of(outcome);
            outcome.to == arm && series.workload == workload && self.is_headline(series)
        })
    }
}
