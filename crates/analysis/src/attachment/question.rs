//! What is asked about arms: what they declare, and how each of their runs was made.

use drivelab_core::factor::{self, Factor};

use super::facts::Facts;

/// One arm and what it is meant to be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArmSettings {
    /// Its name.
    pub name: String,
    /// What is set for it, by the name of the factor. A factor without a name is something that
    /// is done to the machine and that no inspection knows.
    pub declares: Vec<(String, String)>,
}

/// The settings of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The arm, by place.
    pub arm: usize,
    /// Runs are held against each other that did the same: the workload, by place.
    pub group: usize,
    /// The settings.
    pub facts: Facts,
}

/// What is to be found out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Question {
    /// The arms; the first is the baseline.
    pub arms: Vec<ArmSettings>,
    /// What they are meant to differ in, where that is said outright.
    pub factors: Vec<String>,
    /// Whether a study asks, which declares what its arms set; else nothing is declared but by
    /// `factors`.
    pub is_study: bool,
    /// Whether they are known to differ in their work, which is then what differs.
    pub does_other_work: bool,
    /// Arms that are compared, by place.
    pub pairs: Vec<(usize, usize)>,
    /// Every run.
    pub samples: Vec<Sample>,
}

/// What two arms declare to differ in.
pub(super) struct Declared {
    pub factors: Vec<&'static Factor>,
    /// Something is done to an arm of which nobody can say what it is.
    pub(super) vague: bool,
}

impl Question {
    pub(super) fn declared(&self, (from, to): (usize, usize)) -> Declared {
        if !self.factors.is_empty() {
            let factors = self.factors.iter().filter_map(|name| factor::find(name)).collect();
            return Declared { factors, vague: false };
        }
        let (from, to) = (&self.arms[from].declares, &self.arms[to].declares);
        let of = |arm: &[(String, String)], name: &str| {
            let values = arm.iter().filter(|(known, _)| known == name);
            values.map(|(_, value)| value.clone()).collect::<Vec<_>>()
        };
        let mut names: Vec<&str> = from.iter().chain(to).map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| of(from, name) != of(to, name));
        let factors: Vec<&Factor> = names.iter().filter_map(|name| factor::find(name)).collect();
        let vague = !self.is_study || (factors.is_empty() && !names.is_empty());
        Declared { factors, vague }
    }
}
