//! Trees of files drawn from a seed.

use std::path::{Path, PathBuf};

use drivelab_core::Rng;
use drivelab_files::Folder;

use super::files::{Content, make_below, write_file};
use super::halt::Done;
use super::watch::check;
use drivelab_core::control::{Control, Event};

/// One file or folder of a tree; a folder comes before what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Relative to the top of the tree.
    pub(crate) path: PathBuf,
    /// Of a file; a folder has none.
    pub(crate) bytes: Option<u64>,
}

/// A tree to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) entries: Vec<Entry>,
}

/// Of one write.
const CHUNK: usize = 1 << 20;
/// Chosen: as many as fit a screen.
const FILES_PER_FOLDER: u64 = 16;
/// Chosen: the 1,250 folders of 20,000 files are then five deep.
const FOLDERS_PER_FOLDER: usize = 5;
/// Twelve doublings from 128 bytes up to 512 KiB.
const SMALLEST_BYTES: u64 = 128;
const DOUBLINGS: u64 = 12;

impl Tree {
    /// A tree like that of a large program's source: folders in folders, most files of a few KiB
    /// and some much larger.
    ///
    /// The size is drawn as a binomial number of doublings and then evenly within the doubling,
    /// which is close to log-normal: the median is 12 KiB and the mean 24 KiB.
    pub(crate) fn of_source(files: u64, rng: &mut Rng) -> Self {
        let folders = usize::try_from(files.div_ceil(FILES_PER_FOLDER)).unwrap_or(usize::MAX);
        let mut names: Vec<PathBuf> = vec![PathBuf::new()];
        // Each folder holds the next five that have none yet: a tree that fills level by level.
        for number in 1..folders {
            let parent = &names[(number - 1) / FOLDERS_PER_FOLDER];
            names.push(parent.join(format!("{}{number}", random_letters(rng, 6))));
        }
        let mut entries: Vec<Entry> =
            names[1..].iter().map(|path| Entry { path: path.clone(), bytes: None }).collect();
        for number in 0..files {
            let folder = usize::try_from(number / FILES_PER_FOLDER).unwrap_or(0);
            let name = format!("{}{number}.c", random_letters(rng, 8));
            let doublings = (0..DOUBLINGS).filter(|_| rng.below(2) == 1).count();
            let low = SMALLEST_BYTES << doublings;
            let bytes = rng.between(low, 2 * low - 1);
            debug_assert!(low <= SMALLEST_BYTES << DOUBLINGS, "{low}");
            entries.push(Entry { path: names[folder].join(name), bytes: Some(bytes) });
        }
        debug_assert_eq!(
            entries.len() as u64 + 1,
            files + names.len() as u64,
            "the top is no entry"
        );
        Self { entries }
    }

    /// Files of one size in one folder.
    pub(crate) fn flat(files: u64, bytes: u64) -> Self {
        let names = (0..files).map(|number| PathBuf::from(format!("{number:08}")));
        Self { entries: names.map(|path| Entry { path, bytes: Some(bytes) }).collect() }
    }

    /// Makes it below `top`, unmeasured.
    pub(crate) fn make(&self, control: Control<'_>, top: &Folder, content: &Content) -> Done {
        let of = self.entries.len() as u64;
        for (done, entry) in (0..).zip(&self.entries) {
            check(control)?;
            if done % 256 == 0 {
                control.report(Event::Steps { what: "writing the tree", done, of });
            }
            match entry.bytes {
                None => make_below(top, &entry.path)?,
                Some(bytes) => drop(write_file(top, &entry.path, bytes, CHUNK, content)?),
            }
        }
        Ok(())
    }

    /// Returns the bytes of all its files.
    pub(crate) fn bytes(&self) -> u64 {
        self.entries.iter().filter_map(|entry| entry.bytes).sum()
    }

    /// Returns the number of its files.
    pub(crate) fn files(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.bytes.is_some()).count() as u64
    }

    /// Its files, each with its size.
    pub(crate) fn each_file(&self) -> impl Iterator<Item = (&Path, u64)> + Clone {
        self.entries.iter().filter_map(|entry| Some((entry.path.as_path(), entry.bytes?)))
    }
}

/// Random lower-case letters.
pub(crate) fn random_letters(rng: &mut Rng, count: usize) -> String {
    let letters = (0..count).map(|_| u8::try_from(rng.below(26)).expect("below 26"));
    letters.map(|number| char::from(b'a' + number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_the_same_for_a_seed_and_has_the_shape_it_says() {
        let tree = |seed| Tree::of_source(4000, &mut Rng::new(seed));
        let one = tree(1);
        assert_eq!(one, tree(1));
        assert_ne!(one, tree(2));
        assert_eq!(one.files(), 4000);
        let mut sizes: Vec<u64> = one.each_file().map(|(_, bytes)| bytes).collect();
        sizes.sort_unstable();
        let (median, mean) = (sizes[2000], one.bytes() / 4000);
        assert!((10 << 10..14 << 10).contains(&median), "{median}");
        assert!((15 << 10..35 << 10).contains(&mean), "{mean}");
        // A folder stands before what is in it.
        for (place, entry) in one.entries.iter().enumerate() {
            let parent = entry.path.parent().unwrap();
            let above = |other: &Entry| other.path == parent && other.bytes.is_none();
            assert!(parent == Path::new("") || one.entries[..place].iter().any(above));
        }
    }
}
