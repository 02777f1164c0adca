//! One test of a recipe, its loads, and their results.

use serde::{Deserialize, Serialize};

use crate::config::Choice;
use crate::record::{Mark, Nature, Tally};
use crate::units::{Bytes, Span};
use crate::workload::{Pace, Workload};
use crate::{JobSchedule, choice_as_text};

/// One test of a recipe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// The run, or the statistic of the runs, that is reported.
    pub reports: Reports,
    /// Number of points of the region at which it is made: evenly spread if sequential,
    /// otherwise drawn.
    pub points: Option<u32>,
    /// Nature of its figures.
    pub nature: Nature,
}

/// The figure reported of several runs.
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
    /// Schedule of their begin and end.
    pub schedule: JobSchedule,
    /// Seed of everything random.
    pub seed: u64,
}

/// The counts of a load.
#[derive(Debug, Clone)]
pub struct LoadCounts {
    /// All threads together.
    pub tally: Tally,
    /// Nature of the figures, and reasons to doubt them.
    pub marks: Vec<Mark>,
}

/// The target of a recipe.
#[derive(Debug, Clone, Copy)]
pub struct LoadTarget {
    /// Size of the target.
    pub capacity: Bytes,
    /// Seed of everything random.
    pub seed: u64,
}

impl Test {
    /// Duration of the test; single requests take almost no time.
    pub fn time(&self) -> Span {
        // A thousand single requests take seconds, whatever their nominal runtime is.
        if self.points.is_some() && self.workload.number_ios.is_some() {
            return Span::ZERO;
        }
        let one = self.workload.runtime + self.workload.ramp_time;
        let runs = u64::from(self.warm_up + self.loops) * u64::from(self.points.unwrap_or(1));
        Span::from_ns(one.ns().saturating_mul(runs))
    }

    /// End of its region, if it states one.
    pub(super) fn end(&self) -> Option<Bytes> {
        let size = self.workload.size?;
        Some(Bytes::new(self.workload.offset.get() + size.get()))
    }

    /// True if it never has more than one request outstanding.
    pub(super) fn is_one_at_a_time(&self) -> bool {
        let is_depth_one = matches!(self.workload.pace, Pace::Closed { iodepth: 1, .. });
        is_depth_one && self.numjobs == 1
    }
}
