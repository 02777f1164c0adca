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
    pub(super) fn differing(&self, arms: (usize, usize)) -> Vec<String> {
        let all = self.names().into_iter();
        all.filter(|name| name != "findings" && self.differs(arms, name)).collect()
    }

    fn differs(&self, (from, to): (usize, usize), name: &str) -> bool {
        // Only runs that did the same are compared: other work may need other settings.
        self.groups.iter().any(|group| {
            let [from, to] = [from, to].map(|arm| self.cells.get(&(arm, *group))?.get(name));
            from.zip(to).is_some_and(|(from, to)| from != to)
        })
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
        // Findings are reported arm by arm, and are no settings.
        unsteady.remove("findings");
        unsteady.into_iter().collect()
    }
}
