//! The interface of every suite.

use std::collections::BTreeMap;
use std::fmt;

use drivelab_core::{Bytes, Invalid, invalid};

use crate::bench::{Bench, CacheDrop, Done};

/// A suite with its options.
pub(crate) trait Plan: fmt::Debug + Send + Sync {
    /// Sets the option called `key`; returns false if it is unknown.
    fn set(&mut self, key: &str, text: &str) -> Result<bool, Invalid>;

    /// Refuses options that contradict each other.
    fn check(&self) -> Result<(), Invalid>;

    /// Room that it takes on a machine with so much memory.
    fn needs(&self, memory: Bytes) -> Bytes;

    /// Returns the moments at which the page cache is dropped.
    fn drop_when(&self) -> CacheDrop;

    /// Its phases, each with the names of its figures; the first one speaks for the suite.
    fn measures(&self) -> Vec<(String, Vec<String>)>;

    /// Returns the settings that the original tool writes into its results, under its names; of a
    /// run on a machine with so much memory, if that is known.
    fn setup(&self, _seed: u64, _memory: Option<Bytes>) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Carries it out, phase by phase.
    fn run(&self, bench: &mut Bench<'_>) -> Done;
}

/// Checks that a number lies between two others.
pub(crate) fn within<T: PartialOrd + Copy + fmt::Display>(
    key: &str,
    value: T,
    [low, high]: [T; 2],
) -> Result<(), Invalid> {
    debug_assert!(low <= high, "{key}");
    if value >= low && value <= high {
        return Ok(());
    }
    Err(invalid!("`{key}` is {value}, not from {low} to {high}"))
}

/// Phases with one figure each, which is called as they are.
pub(crate) fn named_alike<'a>(
    phases: impl IntoIterator<Item = &'a str>,
) -> Vec<(String, Vec<String>)> {
    // Most tools have one figure a phase, and one name for both.
    phases.into_iter().map(|name| (name.to_owned(), vec![name.to_owned()])).collect()
}

/// One phase with its figures.
pub(crate) fn measures(phase: &str, figures: &[&str]) -> (String, Vec<String>) {
    (phase.to_owned(), figures.iter().map(|figure| (*figure).to_owned()).collect())
}
