//! The figures whose difference is to be explained.

mod file;
mod measured;
mod recipe;

use drivelab_core::JobSchedule;
use drivelab_core::workload::Workload;

use crate::signs::Sign;

pub use file::{of_article, parse};
pub use measured::{Set, of_sets};

/// Two sets of figures of the same loads.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    /// The names of the two arms.
    pub arms: [String; 2],
    /// The modelled drives that a file or the runs name, each once, with their options.
    pub drives: Vec<String>,
    /// The target of each arm, if all its runs have one.
    pub targets: [Option<String>; 2],
    /// The figures that a modelled drive can give.
    pub figures: Vec<Asked>,
    /// The properties that measurements of each arm's drive show.
    pub signs: [Vec<Sign>; 2],
    /// The others, each with the reason.
    pub left_out: Vec<(String, String)>,
}

/// One figure of both arms.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Its name.
    pub name: String,
    /// The load that it measures.
    pub load: Load,
    /// The rate of the second arm as a multiple of that of the first.
    pub ratio: f64,
    /// Runs of each arm.
    pub runs: [u32; 2],
    /// The standard deviation of the logarithm of one run, and its degrees of freedom, where runs
    /// were repeated.
    pub run_sd: Option<(f64, u32)>,
}

/// A load as a run applies it.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// The work of each job.
    pub workload: Workload,
    /// Jobs that run together.
    pub numjobs: u32,
    /// The way in which they begin and end.
    pub schedule: JobSchedule,
}

/// The rate of one load in one run.
#[derive(Debug, Clone, PartialEq)]
struct Rate {
    load: Load,
    per_s: f64,
}

/// Figures of one question.
const FIGURES_MAX: usize = 24;
/// No setting changes a drive by a factor beyond this; a larger one is another unit.
const RATIO_MAX: f64 = 1e6;

/// True if the ratio of two figures can be that of one load in one unit.
fn is_a_ratio(ratio: f64) -> bool {
    (1.0 / RATIO_MAX..=RATIO_MAX).contains(&ratio)
}
