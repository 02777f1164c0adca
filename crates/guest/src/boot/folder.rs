//! The folder of a run, which no killed run leaves for long.

use std::io;
use std::path::Path;

use drivelab_files::{Folder, Marked, Marker};

const PREFIX: &str = "drivelab-guest-";
static MARKER: Marker = Marker { name: ".drivelab-guest", text: "" };

/// A folder that is removed with this value; where that was killed, by a later run.
///
/// The guest uses it by its name, so it is in a folder for temporary files in which no other user
/// can rename it.
#[derive(Debug)]
pub(super) struct RunFolder(Marked);

impl RunFolder {
    /// Makes a folder among temporary files, and removes those of runs that were killed.
    pub(super) fn new() -> io::Result<Self> {
        // The marker keeps the clean-up from a folder that only has such a name.
        Ok(Self(Marked::temporary(PREFIX, &MARKER)?))
    }

    /// The folder, for files that we make in it.
    pub(super) fn folder(&self) -> &Folder {
        self.0.folder()
    }

    pub(super) fn path(&self) -> &Path {
        self.folder().path()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn folders_of_killed_runs_are_removed_and_those_of_users_are_not() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str, is_marked: bool| {
            let folder = parent.path().join(name);
            fs::create_dir_all(folder.join("deep")).unwrap();
            fs::write(folder.join("deep/thesis.txt"), "x").unwrap();
            if is_marked {
                fs::write(folder.join(MARKER.name), "").unwrap();
            }
            folder
        };
        let (left, notes) = (make("drivelab-guest-9-0", true), make("drivelab-guest-notes", false));
        let folder = Folder::open(parent.path()).unwrap();
        let used = RunFolder(Marked::make_new(&folder, PREFIX, &MARKER).unwrap());
        assert!(!left.exists() && notes.join("deep/thesis.txt").exists());
        let again = RunFolder(Marked::make_new(&folder, PREFIX, &MARKER).unwrap());
        assert!(used.path().exists() && again.path().exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}
