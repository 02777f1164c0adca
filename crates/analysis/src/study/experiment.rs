//! An experiment and its measurements, before anything is concluded from them.

use std::collections::BTreeMap;

use drivelab_core::StageName;
use drivelab_core::histogram::Histogram;
use drivelab_core::outline::Risk;
use drivelab_core::plan::{Design, Scale};
use drivelab_core::question::{ContrastInfo, Finding, Interaction};
use drivelab_core::record::{Figure, Flaw, MarkId, Skew, Specimen};
use serde::{Serialize, Serializer};

use crate::attachment::Question;
use crate::cells::Cells;
use crate::specimens::Settle;

/// A finished experiment, or the finished part of one.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// The question.
    pub title: String,
    /// The published comparison that it repeats.
    pub article: Option<u32>,
    /// The stage on which it ran: `simulate`, `hardware`, ...
    pub stage: StageName,
    /// The scale of its work, where that has more than one.
    pub scale: Option<Scale>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Blocks asked for.
    pub blocks: u32,
    /// The layout of the arms over time.
    pub design: Design,
    /// The declared primary metric, `workload.metric`.
    pub primary: String,
    /// Smallest effect worth acting on, as a fraction.
    pub margin: f64,
    /// The configurations compared; the first is the baseline.
    pub arms: Vec<ArmInfo>,
    /// The arm that the overall verdict is about, by index; the last where none is declared.
    pub candidate: Option<usize>,
    /// The work that each arm was asked to do.
    pub workloads: Vec<WorkloadInfo>,
    /// Pairs of arms that isolate one cause.
    pub contrasts: Vec<ContrastInfo>,
    /// Factors whose main effects and interaction are asked for.
    pub interactions: Vec<Interaction>,
    /// Claims that the figures are held against.
    pub findings: Vec<Finding>,
    /// The title asks for a gain, so that "yes" or "no" answers it (`asks = "gain"`).
    pub asks_gain: bool,
    /// Every run.
    pub runs: Vec<RunSample>,
    /// IOPS against depth, for the picture; compared nowhere.
    pub curves: Vec<CurvePoint>,
    /// The cells of a matrix study; `runs` then holds a run for each group of cells.
    pub cells: Option<Cells>,
    /// The attachment of the arms, and the factors they are meant to differ in.
    pub attached: Question,
    /// The risks of the settings when power fails.
    pub risks: Vec<Risk>,
    /// Anything else a reader must know: what is modelled, what fell short.
    pub notes: Vec<String>,
    /// The command that gives this result again.
    pub reproduce: String,
    /// Commands that ask the same of the reader's drive, where the study allows it.
    pub settle: Option<Settle>,
}

/// One configuration.
#[derive(Debug, Clone, Serialize)]
pub struct ArmInfo {
    /// Short name, as in the study file.
    pub name: String,
    /// A description, in one sentence.
    pub summary: String,
    /// Every setting in force, as name and value.
    #[serde(serialize_with = "as_map")]
    pub settings: Vec<(String, String)>,
    /// The price of what the arm uses, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_usd: Option<f64>,
    /// The level of each factor of a factorial design, as factor and level.
    #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<(String, String)>,
}

fn as_map<S: Serializer>(pairs: &[(String, String)], serializer: S) -> Result<S::Ok, S::Error> {
    let map: BTreeMap<&str, &str> =
        pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    map.serialize(serializer)
}

/// One workload.
#[derive(Debug, Clone, Serialize)]
pub struct WorkloadInfo {
    /// Short name, as in the study file.
    pub name: String,
    /// The work, in a phrase: `random 4k reads, 32 outstanding`.
    pub summary: String,
    /// The metric shown on the first screen, for example `iops`.
    pub headline: String,
}

impl WorkloadInfo {
    /// True if it is requests, whose rate is 0 where none completed.
    pub fn is_load(&self) -> bool {
        ["iops", "bytes_per_s"].contains(&self.headline.as_str())
    }
}

/// The figures of one run.
#[derive(Debug, Clone)]
pub struct RunSample {
    /// The arm, by index.
    pub arm: usize,
    /// The workload, by index.
    pub workload: usize,
    /// Its block.
    pub block: u32,
    /// The number of the run among the arm's runs in this block.
    pub repeat: u32,
    /// The arm's position in the block's order.
    pub position: u32,
    /// One number a metric.
    pub metrics: Vec<Figure>,
    /// The latency distribution.
    pub latency: Histogram,
    /// The marks that the run's record puts on its figures.
    pub marks: Vec<MarkId>,
    /// Why its figures are not what they claim to be.
    pub flaws: Vec<Flaw>,
    /// The target that was asked for, as the run's record spells it.
    pub target: String,
    /// The drive that was simulated, where the profile leaves numbers open.
    pub specimen: Option<Specimen>,
    /// The share of each host, by rank, where many made the run together.
    pub hosts: Vec<HostSample>,
    /// The spread of their start times.
    pub start_skew: Option<Skew>,
}

/// The share of one host in a run of many.
#[derive(Debug, Clone)]
pub struct HostSample {
    /// Its number.
    pub rank: u32,
    /// The name of the host.
    pub host: String,
    /// The target it measured.
    pub target: String,
    /// True if its rate was far below that of the others.
    pub is_straggler: bool,
    /// One number a metric.
    pub metrics: Vec<Figure>,
}

/// One point of a curve of IOPS against depth.
#[derive(Debug, Clone)]
pub struct CurvePoint {
    /// The arm, by index.
    pub arm: usize,
    /// Its block.
    pub block: u32,
    /// Requests outstanding.
    pub iodepth: u32,
    /// Requests a second.
    pub iops: f64,
}
