//! What an experiment showed: everything that text, JSON and page are made from.

use drivelab_core::plan::Design;
use drivelab_stats::Verdict;

use super::curve::{DepthCurve, LatencyCurve};
use super::declared::FindingResult;
use super::declared::InteractionResult;
use super::declared::Price;
use super::{ArmInfo, WorkloadInfo};
use crate::attachment::Difference;
use crate::cells::Cells;
use crate::outcome::{Outcome, Series, Together};

/// The result of a study.
#[derive(Debug, Clone)]
pub struct StudyResult {
    /// The question.
    pub title: String,
    /// Where it ran: `simulate`, `hardware`, ...
    pub stage: String,
    /// Seed of everything random.
    pub seed: u64,
    /// Blocks asked for.
    pub blocks: u32,
    /// The blocks that count, ascending: in each, every arm ran every workload.
    pub used: Vec<u32>,
    /// How the arms were laid out over time.
    pub design: Design,
    /// Smallest effect worth acting on, as a fraction, before the exception for tails.
    pub margin: f64,
    /// The arm that the overall verdict is about, by place.
    pub candidate: usize,
    /// The comparison that decides, by its place in `outcomes`.
    pub primary: usize,
    /// The arms; the first is the baseline.
    pub arms: Vec<ArmInfo>,
    /// The workloads.
    pub workloads: Vec<WorkloadInfo>,
    /// Every metric of every workload with its values.
    pub series: Vec<Series>,
    /// Every metric and arm against the baseline.
    pub outcomes: Vec<Outcome>,
    /// How many comparisons hold together.
    pub together: Together,
    /// Single causes apart.
    pub contrasts: Vec<Contrast>,
    /// Pairs of factors: first on the primary metric, then on the other headline metrics.
    pub interactions: Vec<InteractionResult>,
    /// What was stated, and whether it holds.
    pub findings: Vec<FindingResult>,
    /// What a dollar buys.
    pub prices: Vec<Price>,
    /// The cells of a matrix study.
    pub cells: Option<Cells>,
    /// The title asks for a gain, so that "yes" or "no" answers it.
    pub asks_gain: bool,
    /// Latency distributions, all blocks together.
    pub latency: Vec<LatencyCurve>,
    /// IOPS against depth.
    pub depth: Vec<DepthCurve>,
    /// How the arms were attached.
    pub attached: Difference,
    /// What the settings risk, in sentences.
    pub risks: Vec<String>,
    /// What else a reader must know.
    pub notes: Vec<String>,
    /// The command that gives this result again.
    pub reproduce: String,
}

/// What one cause contributes, on the headline metric of each workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    /// The cause: `the host elevator`.
    pub name: String,
    /// The arm without it.
    pub from: usize,
    /// The arm with it.
    pub to: usize,
    /// One outcome a workload.
    pub outcomes: Vec<Outcome>,
}

impl StudyResult {
    /// The arms' names.
    pub fn names(&self) -> Vec<&str> {
        self.arms.iter().map(|arm| arm.name.as_str()).collect()
    }

    /// The comparison that decides.
    pub fn primary(&self) -> &Outcome {
        &self.outcomes[self.primary]
    }

    /// What the study concludes: the verdict on the primary metric of the candidate.
    pub fn verdict(&self) -> Verdict {
        self.primary().verdict()
    }

    /// The series that an outcome is about.
    pub fn series_of(&self, outcome: &Outcome) -> &Series {
        &self.series[outcome.series]
    }

    /// Whether the series is the one shown first for its workload.
    pub fn is_headline(&self, series: &Series) -> bool {
        self.workloads[series.workload].headline == series.metric
    }

    /// The headline outcome of a workload for an arm, where there is one.
    pub fn headline(&self, workload: usize, arm: usize) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| {
            let series = self.series_of(outcome);
            outcome.to == arm && series.workload == workload && self.is_headline(series)
        })
    }
}
