//! The difference in attachment between arms.

use drivelab_core::factor::{self, Factor};
use serde::Serialize;

use super::question::Question;
use super::seen::Seen;
use super::warning::{self, Unchanged};

/// The difference between arms, and the warnings that follow from it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Difference {
    /// Factors that were declared to differ, between some arms at least.
    pub factors: Vec<&'static str>,
    /// The settings that differ, the declared first.
    #[serde(rename = "differs")]
    pub rows: Vec<Row>,
    /// Faults of the comparison, as sentences.
    pub warnings: Vec<String>,
    /// Faults of the drives, arm by arm, as sentences.
    #[serde(rename = "findings")]
    pub faults: Vec<String>,
    /// Arms that did not differ in what they were declared to differ in.
    #[serde(skip)]
    pub unchanged: Vec<Unchanged>,
}

/// One setting in every arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its name: `queue_depth`.
    pub name: String,
    /// Its value in each arm; `None` where it was not seen.
    pub values: Vec<Option<String>>,
    /// True if it was meant to differ, or follows from what was.
    pub declared: bool,
}

impl Difference {
    /// True if a row is to be marked: something else was declared.
    pub fn is_unexpected(&self, row: &Row) -> bool {
        !self.factors.is_empty() && !row.declared && row.name != "findings"
    }
}

/// Finds out what differed between the arms.
pub fn difference(question: &Question) -> Difference {
    let seen = Seen::new(&question.samples);
    let mut declared: Vec<&Factor> = Vec::new();
    for pair in &question.pairs {
        declared.extend(question.declared(*pair).factors);
    }
    let mut rows = Vec::new();
    for name in seen.names() {
        let values: Vec<Option<String>> =
            (0..question.arms.len()).map(|arm| seen.value(arm, &name)).collect();
        if values.iter().any(|value| *value != values[0]) {
            let declared = declared.iter().any(|factor| factor.covers(&name));
            rows.push(Row { name, values, declared });
        }
    }
    rows.sort_by_key(|row| rank(&row.name, &declared));
    let mut factors: Vec<&str> = declared.iter().map(|factor| factor.name).collect();
    factors.sort_unstable();
    factors.dedup();
    Difference {
        factors,
        rows,
        warnings: warning::warnings(question, &seen),
        faults: warning::faults(question, &seen),
        unchanged: warning::unchanged(question, &seen),
    }
}

/// Sort key of a setting: the declared come first, then those known to matter.
fn rank(name: &str, declared: &[&Factor]) -> (usize, String) {
    let rank = match name {
        "findings" => 3,
        _ if declared.iter().any(|factor| factor.own.contains(&name)) => 0,
        _ if factor::all().iter().any(|factor| factor.own.contains(&name)) => 1,
        _ => 2,
    };
    (rank, name.to_owned())
}
