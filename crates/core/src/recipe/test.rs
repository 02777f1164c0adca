//! One test of a recipe, the loads that it asks for, and what they came to.

use crate::config::Choice;
use crate::record::{Mark, Nature, Tally};
use crate::units::{Bytes, Span};
use crate::workload::Workload;
use crate::{JobSchedule, choice_as_text};

/// One test of a recipe.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// What its figures are called.
    pub name: String,
    /// What each thread does.
    pub workload: Workload,
    /// Threads.
    pub numjobs: u32,
    /// A flush at the end of a run that writes, which counts.
    pub end_fsync: bool,
    /// Runs that count.
    pub loops: u32,
    /// Runs before them that do not.
    pub warm_up: u32,
    /// Which of the runs, or what of them, is reported.
    pub reports: Reports,
    /// Places of the region at which it is made: evenly spread where it is sequential, else drawn.
    pub points: Option<u32>,
    /// What it measures, where that is no disk.
    pub nature: Nature,
}

/// What is reported of several runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reports {
    /// Their mean.
    #[default]
    Mean,
    /// The one with the highest rate, as many tools do: it is more than the drive sustains.
    Best,
    /// The one in the middle.
    Median,
}

impl Choice for Reports {
    const WHAT: &'static str = "value of `reports`";
    const NAMES: &'static [(&'static str, Self)] =
        &[("mean", Self::Mean), ("best", Self::Best), ("median", Self::Median)];
}
choice_as_text!(Reports);

/// One load that a recipe asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What each thread does.
    pub workload: Workload,
    /// Threads.
    pub numjobs: u32,
    /// How they begin and end.
    pub schedule: JobSchedule,
    /// Seed of everything random.
    pub seed: u64,
}

/// What a load came to.
#[derive(Debug, Clone)]
pub struct Done {
    /// All threads together.
    pub tally: Tally,
    /// What its figures are, and what casts doubt on them.
    pub marks: Vec<Mark>,
}

/// Where a recipe is carried out.
#[derive(Debug, Clone, Copy)]
pub struct Ground {
    /// How large the target is.
    pub capacity: Bytes,
    /// Seed of everything random.
    pub seed: u64,
}

impl Test {
    /// How long it takes; single requests take next to no time.
    pub fn time(&self) -> Span {
        if self.points.is_some() && self.workload.number_ios.is_some() {
            return Span::ZERO;
        }
        let one = self.workload.runtime + self.workload.ramp_time;
        let runs = u64::from(self.warm_up + self.loops) * u64::from(self.points.unwrap_or(1));
        Span::from_ns(one.ns().saturating_mul(runs))
    }
}
