//! The settings that were seen in the runs of each arm.

use std::collections::{BTreeMap, BTreeSet};

use super::question::Sample;

/// Values of one setting in the runs of one arm that did the same.
type Values = BTreeMap<String, BTreeSet<String>>;

/// The settings seen, by arm and by what was run.
pub(super) struct Seen {
    cells: BTreeMap<(usize, usize), Values>,
    groups: BTreeSet<usize>,
}

impl Seen {
    pub(super) fn new(samples: &[Sample]) -> Self {
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

    pub(super) fn names(&self) -> BTreeSet<String> {
        self.cells.values().flat_map(BTreeMap::keys).cloned().collect()
    }

    /// The values of a setting in an arm, over all its work.
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

    /// True if any inspection saw how the arm's drive is attached.
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
