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
                unknowns.map(|Unknown { name, origin, .. }| (name, plain(&origin))).collect()
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

    /// Returns true if the profiles with these indices leave some number open together.
    pub fn share(&self, one: usize, other: usize) -> bool {
        self.columns[one].iter().any(|column| self.columns[other].contains(column))
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

/// The path of a file without steps that lead nowhere, so that `./a.toml` and `b/../a.toml` are one
/// file.
fn plain(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if kept.last().is_some_and(|last| !["", ".."].contains(last)) => {
                kept.pop();
            }
            part => kept.push(part),
        }
    }
    kept.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::BaseText;

    const BASE: &str = "seagate-st31000333as";

    fn drawn(text: &str) -> [Vec<(String, f64)>; 2] {
        let resolve = |_: &str| None::<BaseText>;
        let profiles = [
            Profile::parse("./faster.toml", text, &resolve).unwrap(),
            Profile::embedded(BASE).unwrap(),
        ];
        let specimens = Specimens::new(1, 20, profiles.iter());
        let values = |index: usize| {
            let (_, drawn) = {
                let row = &specimens.quantiles[3];
                let own = specimens.columns[index].iter().map(|column| row[*column]);
                profiles[index].specimen(&own.collect::<Vec<f64>>())
            };
            drawn.into_iter().map(|it| (it.name, it.value)).collect()
        };
        [values(0), values(1)]
    }

    #[test]
    fn a_file_that_changes_one_number_is_the_same_specimen_of_its_base() {
        let text = format!("base = \"{BASE}\"\n[geometry]\nrpm = 7920\n");
        let [faster, base] = drawn(&text);
        assert_eq!(faster, base);
        // Without the number that the file settles, the others stay.
        let text = format!("base = \"{BASE}\"\n[seek]\nseek_average = \"8ms\"\n");
        let [settled, base] = drawn(&text);
        assert_eq!(settled.len(), base.len() - 1);
        assert!(settled.iter().all(|one| base.contains(one)), "{settled:?} {base:?}");
    }

    #[test]
    fn a_file_may_be_another_drive() {
        let text = format!("base = \"{BASE}\"\n[drive]\nindependent = \"on\"\n");
        let [own, base] = drawn(&text);
        assert_eq!(own.len(), base.len());
        assert!(own.iter().zip(&base).any(|(one, other)| one != other), "{own:?}");
    }

    #[test]
    fn paths_of_one_file_are_one() {
        for (path, expected) in [
            ("a.toml", "a.toml"),
            ("./a.toml", "a.toml"),
            ("b/../a.toml", "a.toml"),
            ("../a.toml", "../a.toml"),
            ("/b/./c/../a.toml", "/b/a.toml"),
            ("/../a.toml", "/../a.toml"),
        ] {
            assert_eq!(plain(path), expected, "{path}");
        }
    }
}
