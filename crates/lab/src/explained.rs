//! Rates that `explain` simulated before, in the user's cache.
//!
//! A file holds those of one drive. Its name is a hash of the drive and of the sources of the
//! model, so that no rate outlives what it depends on.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use drivelab_core::hexadecimal;
use drivelab_files::{self as files, Folder};
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;
use drivelab_simulate::explain::Cache;
use sha2::{Digest as _, Sha256};

use crate::paths::user_folder;

/// A larger file is begun again; a question takes some 100 kB.
const FILE_MAX: u64 = 16 << 20;
/// The sources of the model, by a hash.
const MODEL: &str = env!("DRIVELAB_MODEL");

/// The rates of one drive.
#[derive(Debug)]
pub struct Rates {
    cache: Cache,
    /// Keys that were read; none are new if there are as many in the end.
    known: usize,
    /// The file that keeps them; none without a home.
    file: Option<PathBuf>,
}

impl Rates {
    /// Reads the rates of a drive that are kept; a file that cannot be read has none.
    pub fn kept(spec: &DriveSpec, profile: &Profile) -> Self {
        let folder = user_folder("XDG_CACHE_HOME", ".cache");
        let drive = Sha256::digest(format!("{MODEL} {spec} {}", profile.canonical()));
        let name = format!("{}.json", hexadecimal(&drive));
        let file = folder.map(|folder| folder.join("explain").join(name));
        let made = file.as_deref().and_then(read).unwrap_or_default();
        Self { known: made.len(), cache: Cache::of(made), file }
    }

    /// The rates, to which others are added.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Keeps what was simulated; where that cannot be, it is simulated again next time.
    pub fn keep(&self) {
        let (Some(file), made) = (&self.file, self.cache.all()) else { return };
        if made.len() == self.known {
            return;
        }
        let Some(folder) = file.parent() else { return };
        if let Ok(text) = serde_json::to_vec(&made) {
            let _ = Folder::make(folder).and_then(|_| files::replace(file, &text));
        }
    }
}

fn read(file: &Path) -> Option<BTreeMap<String, Vec<f64>>> {
    let mut text = Vec::new();
    files::read_regular(file).ok()??.take(FILE_MAX).read_to_end(&mut text).ok()?;
    let made: BTreeMap<String, Vec<f64>> = serde_json::from_slice(&text).ok()?;
    // What the model gives is a rate; anything else was not written by this program.
    let are_rates = made.values().flatten().all(|it| it.is_finite() && *it > 0.0);
    are_rates.then_some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_rate_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rates.json");
        let check = |text: &str, expected: Option<usize>| {
            std::fs::write(&file, text).unwrap();
            assert_eq!(read(&file).map(|rates| rates.len()), expected);
        };
        check("{\"a\": [150.25, 3]}", Some(1));
        check("{\"a\": [0]}", None);
        check("{\"a\": [-1]}", None);
        check("{\"a\": [null]}", None);
        check("not json", None);
    }
}
