//! What a comparison of results showed.

use drivelab_stats::{Verdict, WarningId};

use super::{Source, Withheld, WorkRow};
use crate::attachment::Difference;
use crate::outcome::{Outcome, Series, Together, gather};
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
    /// The keys in which the work of the runs differs.
    pub work: Vec<WorkRow>,
    /// Why verdicts are withheld.
    pub withheld: Vec<Withheld>,
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

    /// Whether the verdict of an outcome is withheld, and by a reason that is said first.
    pub fn is_withheld(&self, outcome: &Outcome) -> bool {
        let place = self.outcomes.iter().position(|it| std::ptr::eq(it, outcome));
        place.is_some_and(|place| self.withheld.iter().any(|it| it.outcomes.contains(&place)))
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
