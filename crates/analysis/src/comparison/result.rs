//! The result of a comparison.

use drivelab_stats::{Verdict, WarningId};

use super::{Source, Withheld, WorkRow};
use crate::attachment::Difference;
use crate::outcome::{Outcome, Series, Together, gather};
use drivelab_core::record::{Label, Remark};

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareResult {
    /// The source of the figures.
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
    /// Further facts about each series, in the same order.
    pub facts: Vec<SeriesFacts>,
    /// Every metric and arm against the baseline.
    pub outcomes: Vec<Outcome>,
    /// The number of comparisons that hold together.
    pub together: Together,
    /// The comparison that decides, by its index in `outcomes`: the primary metric of the last
    /// arm.
    pub primary: usize,
    /// The difference in attachment between the arms.
    pub attached: Difference,
    /// The keys in which the work of the runs differs.
    pub work: Vec<WorkRow>,
    /// Why verdicts are withheld.
    pub withheld: Vec<Withheld>,
    /// Why the runs were compared without pairing them.
    pub unpaired: Option<String>,
    /// Other notes for the reader.
    pub notes: Vec<String>,
}

/// Facts about a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesFacts {
    /// It only accompanies another number.
    pub is_detail: bool,
    /// Remarks on a metric that is no plain measurement: one per label.
    pub remarks: Vec<Remark>,
}

impl SeriesFacts {
    /// True if the number has this label.
    pub fn is(&self, label: Label) -> bool {
        self.remarks.iter().any(|remark| remark.label == label)
    }
}

impl CompareResult {
    /// The comparison that decides.
    pub fn primary(&self) -> &Outcome {
        &self.outcomes[self.primary]
    }

    /// Returns the conclusion: the verdict on the primary metric of the last arm.
    pub fn verdict(&self) -> Verdict {
        self.primary().verdict()
    }

    /// True if the verdict of an outcome is withheld, and by a reason that is said first.
    pub fn is_withheld(&self, outcome: &Outcome) -> bool {
        let index = self.outcomes.iter().position(|it| std::ptr::eq(it, outcome));
        index.is_some_and(|index| self.withheld.iter().any(|it| it.outcomes.contains(&index)))
    }

    /// The warnings that no reason to withhold has said already.
    pub fn warnings(&self) -> Vec<String> {
        let named = self.outcomes.iter().map(|o| (self.series[o.series].name.as_str(), o));
        let said: Vec<WarningId> = self.withheld.iter().map(|it| it.id).collect();
        gather(named, &said)
    }

    /// The arms' names.
    pub fn names(&self) -> Vec<&str> {
        self.arms.iter().map(String::as_str).collect()
    }
}
