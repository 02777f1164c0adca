//! The drives that a study is made on: another specimen in each block.

use std::collections::BTreeSet;

use drivelab_core::hypercube;

use crate::profile::{Profile, Unknown};

/// The specimens of several profiles, which cover the unknowns of all of them evenly.
///
/// What two profiles inherit from one file is one unknown: a drive and the same drive with another
/// speed differ in nothing else.
#[derive(Debug, Clone)]
pub struct Specimens {
    /// For each profile, the columns of its unknowns.
    columns: Vec<Vec<usize>>,
    /// One row a specimen.
    quantiles: Vec<Vec<f64>>,
}

impl Specimens {
    /// As many specimens as `count` says; same seed, same specimens.
    pub fn new<'a>(seed: u64, count: u32, profiles: impl Iterator<Item = &'a Profile>) -> Self {
        let name = |Unknown { name, origin, .. }: Unknown| (name, origin);
        let names = |profile: &Profile| profile.unknowns().into_iter().map(name).collect();
        let names: Vec<Vec<(&str, String)>> = profiles.map(names).collect();
        // In an order of their own, so that arms that change places keep their drives.
        let all: BTreeSet<&(&str, String)> = names.iter().flatten().collect();
        let column = |name| all.iter().position(|known| *known == name).expect("it is among all");
        let columns = names.iter().map(|names| names.iter().map(column).collect()).collect();
        Self { columns, quantiles: hypercube(seed, count, all.len()) }
    }

    /// The specimen called `number` of `profile`, which is at `place` among the profiles.
    ///
    /// # Panics
    /// There are not as many specimens or profiles.
    pub fn of(&self, place: usize, profile: &Profile, number: u32) -> Profile {
        let row = &self.quantiles[number as usize];
        let quantiles: Vec<f64> = self.columns[place].iter().map(|column| row[*column]).collect();
        if quantiles.is_empty() {
            return profile.clone();
        }
        profile.specimen(&quantiles).0.numbered(number)
    }
}
