//! What a comparison of results showed.

use drivelab_stats::Verdict;

use super::Source;
use crate::attachment::Difference;
use crate::outcome::{Outcome, Series, Together};
use drivelab_core::record::{Label, Remark};

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareResult {
    /// What the figures come from.
    pub source: Source,
    /// The arms' names; the first is the baseline.
    pub arms: Vec<String>,
    /// Blocks that count, by name.
    pub blocks: Vec<String>,
    /// Smallest effect worth acting on, as a fraction, before the exception for tails.
    pub margin: f64,
    /// Seed of the random sign flips.
    pub seed: u64,
    /// Every metric with its values.
    pub series: Vec<Series>,
    /// What is known of each series besides, in the same order.
    pub facts: Vec<SeriesFacts>,
    /// Every metric and arm against the baseline.
    pub outcomes: Vec<Outcome>,
    /// How many comparisons hold together.
    pub together: Together,
    /// The comparison that decides, by its place in `outcomes`: the primary metric of the last
    /// arm.
    pub primary: usize,
    /// How the arms were attached.
    pub attached: Difference,
    /// Why the runs were compared without pairing them.
    pub unpaired: Option<String>,
    /// What else a reader must know.
    pub notes: Vec<String>,
}

/// What a metric is.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesFacts {
    /// It only accompanies another number.
    pub is_detail: bool,
    /// What it is, where it is no plain measurement: one remark a label.
    pub remarks: Vec<Remark>,
}

impl SeriesFacts {
    /// Whether the number has this label.
    pub fn is(&self, label: Label) -> bool {
        self.remarks.iter().any(|remark| remark.label == label)
    }
}

impl CompareResult {
    /// The comparison that decides.
    pub fn primary(&self) -> &Outcome {
        &self.outcomes[self.primary]
    }

    /// What is concluded: the verdict on the primary metric of the last arm.
    pub fn verdict(&self) -> Verdict {
        self.primary().verdict()
    }

    /// The arms' names.
    pub fn names(&self) -> Vec<&str> {
        self.arms.iter().map(String::as_str).collect()
    }
}
