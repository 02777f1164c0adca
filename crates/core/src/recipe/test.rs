//! One test of a recipe, its loads, and their results.

use crate::config::Choice;
use crate::record::{Mark, Nature, Tally};
use crate::units::{Bytes, Span};
use crate::workload::Workload;
use crate::{JobSchedule, choice_as_text};

/// One test of a recipe.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// Prefix of the names of its figures.
    pub name: String,
    /// The workload of each thread.
    pub workload: Workload,
    /// Threads.
    pub numjobs: u32,
    /// A flush at the end of a writing run; it counts.
    pub end_fsync: bool,
    /// Number of counted runs.
    pub loops: u32,
    /// Number of warm-up runs, which do not count.
    pub warm_up: u32,
    /// Which run, or which statistic of the runs, is reported.
    pub reports: Reports,
    /// Number of places of the region at which it is made: evenly spread if sequential, otherwise
    /// drawn.
    pub points: Option<u32>,
    /// What it measures, if that is not a disk.
    pub nature: Nature,
}

/// How several runs are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reports {
    /// Their mean.
    #[default]
    Mean,
    /// The run with the highest rate, as in many tools: it is more than the drive sustains.
    Best,
    /// The run with the median rate.
    Median,
}

impl Choice for Reports {
    const WHAT: &'static str = "value of `reports`";
    const NAMES: &'static [(&'static str, Self)] =
        &[("mean", Self::Mean), ("best", Self::Best), ("median", Self::Median)];
}
choice_as_text!(Reports);

/// One load of a recipe.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The workload of each thread.
    pub workload: Workload,
    /// Threads.
    pub numjobs: u32,
    /// How they begin and end.
    pub schedule: JobSchedule,
    /// Seed of everything random.
    pub seed: u64,
}

/// The result of a load.
#[derive(Debug, Clone)]
pub struct Done {
    /// All threads together.
    pub tally: Tally,
    /// What its figures measure, and reasons to doubt them.
    pub marks: Vec<Mark>,
}

/// The target of a recipe.
#[derive(Debug, Clone, Copy)]
pub struct Ground {
    /// Size of the target.
    pub capacity: Bytes,
    /// Seed of everything random.
    pub seed: u64,
}

impl Test {
    /// How long it takes; single requests take almost no time.
    pub fn time(&self) -> Span {
        if self.points.is_some() && self.workload.number_ios.is_some() {
            return Span::ZERO;
        }
        let one = self.workload.runtime + self.workload.ramp_time;
        let runs = u64::from(self.warm_up + self.loops) * u64::from(self.points.unwrap_or(1));
        Span::from_ns(one.ns().saturating_mul(runs))
    }
}
