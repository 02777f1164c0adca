//! The drives that a study is made on: another specimen in each block.

use crate::profile::{Profile, Unknown};
use crate::unknown::hypercube;

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
        let mut known: Vec<(&'static str, String)> = Vec::new();
        let mut column = |Unknown { name, origin, .. }: Unknown| {
            let unknown = (name, origin);
            let found = known.iter().position(|known| *known == unknown);
            found.unwrap_or_else(|| {
                known.push(unknown);
                known.len() - 1
            })
        };
        let columns: Vec<Vec<usize>> = profiles
            .map(|profile| profile.unknowns().into_iter().map(&mut column).collect())
            .collect();
        Self { columns, quantiles: hypercube(seed, count, known.len()) }
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
