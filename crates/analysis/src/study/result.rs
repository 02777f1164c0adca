//! The result of an experiment: everything that text, JSON and page are made from.

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
    /// The experiment that was analysed.
    pub experiment: Experiment,
    /// The blocks that count, ascending: in each, every arm ran every workload.
    pub used: Vec<u32>,
    /// Blocks that are finished, and left out because of a run that does not count.
    pub left_out: usize,
    /// The arm that the overall verdict is about, by index.
    pub candidate: usize,
    /// The comparison that decides, by its index in `outcomes`.
    pub primary: usize,
    /// Every metric of every workload with its values.
    pub series: Vec<Series>,
    /// Every metric and arm against the baseline.
    pub outcomes: Vec<Outcome>,
    /// The number of comparisons that hold together.
    pub together: Together,
    /// The contributions of single causes.
    pub contrasts: Vec<ContrastResult>,
    /// Pairs of factors: first on the primary metric, then on the other headline metrics.
    pub interactions: Vec<InteractionResult>,
    /// The stated findings, and whether they hold.
    pub findings: Vec<FindingResult>,
    /// The price of the gain, arm by arm.
    pub prices: Vec<Price>,
    /// Latency distributions, all blocks together.
    pub latency: Vec<LatencyCurve>,
    /// The metrics by queue depth.
    pub depth: Vec<DepthCurve>,
    /// The difference between the attachments of the arms.
    pub attached: Difference,
    /// Why figures may not decide, workload by workload.
    pub withheld: Vec<Withheld>,
    /// Each host compared with itself, where many made the runs.
    pub hosts: Option<OnHosts>,
    /// Other notes for the reader: the experiment's own, and what the analysis left out.
    pub notes: Vec<String>,
}

/// The contribution of one cause, to the headline metric of each workload.
#[derive(Debug, Clone, PartialEq)]
pub struct ContrastResult {
    /// The cause: `the host elevator`.
    pub name: String,
    /// The arm without the cause, by index.
    pub from: usize,
    /// The arm with it, by index.
    pub to: usize,
    /// One outcome a workload.
    pub outcomes: Vec<Outcome>,
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

    /// Returns the conclusion of the study: the verdict on the primary metric of the candidate.
    pub fn verdict(&self) -> Verdict {
        self.primary().verdict()
    }

    /// The first question whose answer depends on the drive: that of the primary metric, else one
    /// of its workload, else any headline.
    pub fn open(&self) -> Option<&Outcome> {
        let workload = self.series_of(self.primary()).workload;
        let contrasts = self.contrasts.iter().flat_map(|contrast| &contrast.outcomes);
        let of_primary = contrasts.clone().filter(|it| self.series_of(it).workload == workload);
        let headlines = self.outcomes.iter().filter(|it| self.is_headline(self.series_of(it)));
        // The most important question first.
        let candidates =
            std::iter::once(self.primary()).chain(of_primary).chain(contrasts).chain(headlines);
        candidates.into_iter().find(|it| it.depends())
    }

    /// The commands that would settle it, and whether they write.
    pub fn settle(&self) -> Option<([String; 3], bool)> {
        let foreseen = self.open()?.foreseen.as_ref()?;
        self.experiment.settle.as_ref()?.commands(foreseen)
    }

    /// True if blocks simulated different drives, so that there is a prediction for one more.
    pub fn is_sampled(&self) -> bool {
        self.outcomes.iter().any(|outcome| outcome.foreseen.is_some())
    }

    /// The depths at which curves were measured, ascending.
    pub fn depths(&self) -> Vec<u32> {
        let points = self.depth.iter().flat_map(|curve| &curve.points);
        points.map(|point| point.iodepth).collect::<BTreeSet<u32>>().into_iter().collect()
    }

    /// The series that an outcome is about.
    pub fn series_of(&self, outcome: &Outcome) -> &Series {
        &self.series[outcome.series]
    }

    /// True if the series is the one shown first for its workload.
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
