//! The question put to the arms: the settings they declare, and the attachment of each run.

use drivelab_core::factor::{self, Factor};

use super::facts::Facts;

/// One arm and what it is meant to be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArmSettings {
    /// Its name.
    pub name: String,
    /// Its settings, by the name of the factor. A factor without a name is a change to the machine
    /// that no inspection knows.
    pub declares: Vec<(String, String)>,
}

/// The settings of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The arm, by index.
    pub arm: usize,
    /// The workload, by index: only runs that did the same are compared.
    pub group: usize,
    /// The settings.
    pub facts: Facts,
}

/// The question: which arms are compared, and in what they should differ.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Question {
    /// The arms; the first is the baseline.
    pub arms: Vec<ArmSettings>,
    /// The factors they are meant to differ in, where these are named outright.
    pub factors: Vec<String>,
    /// True if a study asks, which declares what its arms set; otherwise only `factors` declares
    /// anything.
    pub is_study: bool,
    /// True if they are known to differ in their work, which is then the difference.
    pub does_other_work: bool,
    /// Arms that are compared, by index.
    pub pairs: Vec<(usize, usize)>,
    /// Every run.
    pub samples: Vec<Sample>,
}

/// The declared difference between two arms.
pub(super) struct Declared {
    pub factors: Vec<&'static Factor>,
    /// True if an arm may have a change that no factor describes.
    pub(super) vague: bool,
}

impl Declared {
    pub(super) fn is_about(&self, name: &str) -> bool {
        self.factors.iter().any(|factor| factor.name == name)
    }
}

impl Question {
    pub(super) fn declared(&self, (from, to): (usize, usize)) -> Declared {
        if !self.factors.is_empty() {
            let factors = self.factors.iter().filter_map(|name| factor::find(name)).collect();
            return Declared { factors, vague: false };
        }
        let (from, to) = (&self.arms[from].declares, &self.arms[to].declares);
        let mut names: Vec<&str> = from.iter().chain(to).map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        // A setting that both arms declare alike is no difference.
        names.retain(|name| values_of(from, name) != values_of(to, name));
        let factors: Vec<&Factor> = names.iter().filter_map(|name| factor::find(name)).collect();
        let vague = !self.is_study || (factors.is_empty() && !names.is_empty());
        Declared { factors, vague }
    }
}

/// The values that an arm declares for a factor.
fn values_of<'a>(declares: &'a [(String, String)], name: &str) -> Vec<&'a str> {
    let values = declares.iter().filter(|(known, _)| known == name);
    values.map(|(_, value)| value.as_str()).collect()
}
