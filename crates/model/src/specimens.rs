//! The drives of a study: a different specimen in each block.

use std::collections::BTreeSet;

use drivelab_core::hypercube;

use crate::profile::{Profile, Unknown};

/// Specimens of several profiles, which cover the unknowns of all of them evenly.
///
/// Values that two profiles inherit from one file are one unknown: a drive and its variant with
/// another speed then differ in nothing else.
#[derive(Debug, Clone)]
pub struct Specimens {
    /// The columns of each profile's unknowns in `quantiles`.
    columns: Vec<Vec<usize>>,
    /// One row for each specimen.
    quantiles: Vec<Vec<f64>>,
}

impl Specimens {
    /// Draws `count` specimens; the same seed draws the same ones.
    pub fn new<'a>(seed: u64, count: u32, profiles: impl Iterator<Item = &'a Profile>) -> Self {
        let names: Vec<Vec<(&str, String)>> = profiles
            .map(|profile| {
                let unknowns = profile.unknowns().into_iter();
                unknowns.map(|Unknown { name, origin, .. }| (name, origin)).collect()
            })
            .collect();
        // Sorted by name, so that reordering the arms of a study does not change their drives.
        let all: BTreeSet<&(&str, String)> = names.iter().flatten().collect();
        let all: Vec<&(&str, String)> = all.into_iter().collect();
        let columns = names
            .iter()
            .map(|names| {
                let column = names.iter().map(|name| all.binary_search(&name));
                column.map(|index| index.expect("`all` holds every name")).collect()
            })
            .collect();
        Self { columns, quantiles: hypercube(seed, count, all.len()) }
    }

    /// Specimen `number` of `profile`, which has `index` among the profiles given to
    /// [`Specimens::new`].
    ///
    /// # Panics
    /// `number` or `index` is out of range.
    pub fn of(&self, index: usize, profile: &Profile, number: u32) -> Profile {
        let row = &self.quantiles[number as usize];
        let quantiles: Vec<f64> = self.columns[index].iter().map(|column| row[*column]).collect();
        // Without unknowns all specimens are the same drive, and need no number.
        if quantiles.is_empty() {
            return profile.clone();
        }
        profile.specimen(&quantiles).0.numbered(number)
    }
}
