//! One run as bonnie++ wrote it, from a line of CSV or from the tables.

use std::collections::BTreeMap;

use super::column::{FILE_PHASES, Kind, PHASES};
use super::value::Value;

/// The name in the setup of the phases whose columns contain `+++++`.
pub(super) const TOO_FAST: &str = "too_fast";

/// All values printed by one run.
#[derive(Debug)]
pub(super) struct Row {
    /// The line with which it begins.
    pub(super) line: usize,
    pub(super) tool_version: String,
    pub(super) machine: String,
    /// The non-empty options, by the names of the CSV header.
    pub(super) setup: BTreeMap<String, String>,
    /// Rate, load and latency of each phase.
    values: [[Value; 3]; PHASES.len()],
}

impl Row {
    pub(super) fn new(line: usize, tool_version: &str, machine: &str) -> Self {
        Self {
            line,
            tool_version: tool_version.to_owned(),
            machine: machine.to_owned(),
            setup: BTreeMap::new(),
            values: [[Value::NotRun; 3]; PHASES.len()],
        }
    }

    /// Records an option, unless it is empty.
    pub(super) fn option(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.setup.insert(name.to_owned(), value.to_owned());
        }
    }

    /// The value of an option; empty if it was not printed.
    pub(super) fn setting(&self, name: &str) -> &str {
        self.setup.get(name).map_or("", String::as_str)
    }

    pub(super) fn value(&self, phase: usize, kind: Kind) -> Value {
        self.values[phase][kind as usize]
    }

    pub(super) fn set(&mut self, phase: usize, kind: Kind, value: Value) {
        self.values[phase][kind as usize] = value;
    }

    /// Sets one kind of column of several phases, from the phase `first` on.
    pub(super) fn fill(&mut self, first: usize, kind: Kind, values: [Value; FILE_PHASES]) {
        debug_assert!(first + FILE_PHASES <= PHASES.len(), "a table has the phases of a half");
        for (phase, value) in (first..).zip(values) {
            self.set(phase, kind, value);
        }
    }

    /// True if no phase was run.
    pub(super) fn is_empty(&self) -> bool {
        self.values.as_flattened().iter().all(|value| *value == Value::NotRun)
    }

    /// The phases that took less than half a second.
    pub(super) fn too_fast(&self) -> Vec<&'static str> {
        let mut phases = PHASES.iter().enumerate().collect::<Vec<_>>();
        phases.retain(|(index, _)| self.value(*index, Kind::Rate) == Value::TooFast);
        phases.into_iter().map(|(_, phase)| phase.name).collect()
    }
}
