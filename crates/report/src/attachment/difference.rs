//! What differed between arms.

use std::collections::{BTreeMap, BTreeSet};

use drivelab_core::factor::{self, Factor};
use serde::Serialize;

use super::facts::Facts;
use super::warning;

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
    /// Arms that are compared, by place.
    pub pairs: Vec<(usize, usize)>,
    /// Every run.
    pub samples: Vec<Sample>,
}

/// What differed between arms, and what is to be thought of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Difference {
    /// What was declared to differ, between some arms at least.
    pub factors: Vec<&'static str>,
    /// What differs, the declared first.
    #[serde(rename = "differs")]
    pub rows: Vec<Row>,
    /// What is wrong with the comparison.
    pub warnings: Vec<String>,
    /// What was wrong with the drives, arm by arm, in sentences.
    #[serde(rename = "findings")]
    pub faults: Vec<String>,
    /// Arms that did not differ in what they were declared to differ in.
    #[serde(skip)]
    pub unchanged: Vec<Unchanged>,
}

/// Two arms that did not differ in what they were declared to differ in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unchanged {
    /// The arms, by place.
    pub(crate) arms: (usize, usize),
    /// What was the same in both.
    pub(crate) values: String,
}

/// One setting in every arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    pub(crate) name: String,
    /// Its value in each arm; `None` where it was not seen.
    pub(crate) values: Vec<Option<String>>,
    /// Whether it was meant to differ, or follows from what was.
    pub(crate) declared: bool,
}

impl Difference {
    /// Whether a row is to be marked: something else was declared.
    pub(crate) fn is_unexpected(&self, row: &Row) -> bool {
        !self.factors.is_empty() && !row.declared && row.name != "findings"
    }
}

/// Values of one setting in the runs of one arm that did the same.
pub(super) type Values = BTreeMap<String, BTreeSet<String>>;

pub(super) struct Seen {
    cells: BTreeMap<(usize, usize), Values>,
    groups: BTreeSet<usize>,
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

/// What decides a benchmark comes first: the declared, then what is known to matter.
fn rank(name: &str, declared: &[&Factor]) -> (usize, String) {
    let own = |factor: &&Factor| factor.own.contains(&name);
    let place = match name {
        "findings" => 3,
        _ if declared.iter().any(own) => 0,
        _ if factor::all().iter().any(|factor| factor.own.contains(&name)) => 1,
        _ => 2,
    };
    (place, name.to_owned())
}

pub(super) struct Declared {
    pub(super) factors: Vec<&'static Factor>,
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

impl Seen {
    fn new(samples: &[Sample]) -> Self {
        let mut cells: BTreeMap<(usize, usize), Values> = BTreeMap::new();
        for sample in samples {
            let cell = cells.entry((sample.arm, sample.group)).or_default();
            for (name, value) in &sample.facts {
                cell.entry(name.clone()).or_default().insert(value.clone());
            }
        }
        let groups = cells.keys().map(|(_, group)| *group).collect();
        Self { cells, groups }
    }

    fn names(&self) -> BTreeSet<String> {
        self.cells.values().flat_map(BTreeMap::keys).cloned().collect()
    }

    /// The values of a setting in an arm, whatever it did.
    pub(super) fn value(&self, arm: usize, name: &str) -> Option<String> {
        let cells = self.cells.iter().filter(|((of, _), _)| *of == arm);
        let values: BTreeSet<&String> =
            cells.filter_map(|(_, cell)| cell.get(name)).flatten().collect();
        let values: Vec<&str> = values.into_iter().map(String::as_str).collect();
        (!values.is_empty()).then(|| values.join(" or "))
    }

    /// The settings that are known of both arms and were not the same in both.
    pub(super) fn differing(&self, (from, to): (usize, usize)) -> Vec<String> {
        let differs = |name: &String| {
            self.groups.iter().any(|group| {
                let of = |arm| self.cells.get(&(arm, *group)).and_then(|cell| cell.get(name));
                of(from).zip(of(to)).is_some_and(|(from, to)| from != to)
            })
        };
        self.names().into_iter().filter(|name| name != "findings" && differs(name)).collect()
    }

    /// Whether anything was seen of how the arm's drive is attached.
    pub(super) fn is_known(&self, arm: usize) -> bool {
        self.value(arm, "findings").is_some()
    }

    /// The settings that changed from one run of an arm to another that did the same.
    pub(super) fn unsteady(&self, arm: usize) -> Vec<(String, String)> {
        let mut unsteady = BTreeMap::new();
        for (_, cell) in self.cells.iter().filter(|((of, _), _)| *of == arm) {
            for (name, values) in cell.iter().filter(|(_, values)| values.len() > 1) {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                unsteady.insert(name.clone(), values.join(", "));
            }
        }
        unsteady.remove("findings");
        unsteady.into_iter().collect()
    }
}
