//! The folder of a run, which no killed run leaves for long.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

const PREFIX: &str = "drivelab-lab-";
/// A folder this young may not be locked yet by the run that makes it.
const YOUNG: Duration = Duration::from_secs(60);

/// A folder that is removed with this value; where that was killed, by a later run.
#[derive(Debug)]
pub(super) struct Folder {
    folder: TempDir,
    /// Says that the folder is in use, for as long as this process lives.
    _lock: File,
}

impl Folder {
    /// Makes a folder in `parent`, and removes those of runs that were killed.
    pub(super) fn new(parent: &Path) -> io::Result<Self> {
        remove_leftovers(parent, YOUNG);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = File::open(folder.path())?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes folders that no process has locked; what cannot be removed only takes space.
fn remove_leftovers(parent: &Path, young: Duration) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_old = |about: fs::Metadata| {
            about.is_dir()
                && about.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age >= young))
        };
        if !entry.file_name().to_string_lossy().starts_with(PREFIX)
            || !entry.metadata().is_ok_and(is_old)
        {
            continue;
        }
        let Ok(folder) = File::open(entry.path()) else { continue };
        if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_killed_runs_are_removed_and_those_in_use_are_not() {
        let parent = tempfile::tempdir().unwrap();
        let used = Folder::new(parent.path()).unwrap();
        let left = parent.path().join("drivelab-lab-x");
        fs::create_dir_all(left.join("sub")).unwrap();
        fs::create_dir(parent.path().join("other")).unwrap();
        remove_leftovers(parent.path(), YOUNG);
        assert!(left.exists(), "it may be new");
        remove_leftovers(parent.path(), Duration::ZERO);
        assert!(!left.exists() && used.path().exists() && parent.path().join("other").exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
    }
}
