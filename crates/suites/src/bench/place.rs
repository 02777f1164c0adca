//! The one folder in which a suite works, and what a killed run left of an earlier one.
//!
//! A folder is ours if it has our name and holds our marker. The marker is the first file in it and
//! the last one out, and whoever works in the folder holds a lock on it: so a folder with a marker
//! that is not locked was left behind, and an empty folder of that name was left before the marker
//! came or after it went.
//!
//! The marker is an empty file: one that held something would lie where the first file of the
//! benchmark does, and the files behind it would be at other places of the file system's free space
//! than those of the original tool.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use drivelab_core::{Bytes, Refusal};
use rustix::fs::{FlockOperation, OFlags};

const NAME: &str = "drivelab-suite-";
const MARKER: &str = ".drivelab-suite";
/// What the marker held once; it counts still, as does a part of it that a killed run left.
const TEXT: &str = "A run of `drivelab run --suite` works here. If it was killed, the next run in \
                    the folder above removes this one.\n";
/// More runs than this at the same time in one folder are refused.
const RUNS_MAX: u32 = 1000;

/// A folder of our own, removed with all that is in it.
#[derive(Debug)]
pub(crate) struct Place {
    folder: PathBuf,
    /// Locked as long as the run goes on.
    _marker: File,
}

impl Place {
    /// Makes a folder of our own below `dir`, after removing what killed runs left there.
    pub(crate) fn enter(dir: &Path) -> Result<Self, Refusal> {
        let held = lock_folder(dir)?;
        clean_up(dir)?;
        let place = Self::make(dir);
        drop(held);
        place
    }

    fn make(dir: &Path) -> Result<Self, Refusal> {
        for number in 1..=RUNS_MAX {
            let folder = dir.join(format!("{NAME}{number}"));
            match DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => {
                    return mark(&folder).map_err(|error| {
                        let _ = fs::remove_file(folder.join(MARKER));
                        let _ = fs::remove_dir(&folder);
                        Refusal::at_path("write to", dir, error)
                    });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Refusal::at_path("create a folder in", dir, error)),
            }
        }
        let dir = dir.display();
        Err(Refusal::request(format!("`{dir}` holds {RUNS_MAX} folders named `{NAME}N`"))
            .hint("remove them, or choose another folder"))
    }

    /// Where everything happens.
    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    /// Makes an empty folder in it, in place of one of that name.
    pub(crate) fn fresh(&self, name: &str) -> Result<PathBuf, Refusal> {
        let folder = self.folder.join(name);
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Refusal::at_path("remove", &folder, error));
            }
            _ => {}
        }
        fs::create_dir(&folder).map_err(|error| Refusal::at_path("create", &folder, error))?;
        Ok(folder)
    }

    /// Removes everything.
    pub(crate) fn leave(self) -> Result<(), Refusal> {
        remove(&self.folder).map_err(|error| Refusal::at_path("remove", &self.folder, error))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Where this fails the next run tries again; a run that succeeded has called `leave`.
        let _ = remove(&self.folder);
    }
}

/// Keeps two runs from making and removing folders in `dir` at once; released when dropped.
///
/// A file system without locks on folders leaves the lock on the marker.
fn lock_folder(dir: &Path) -> Result<File, Refusal> {
    let held = File::open(dir).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let dir = dir.display();
            Refusal::request(format_args!("the folder `{dir}` does not exist"))
                .hint(format!("create it on the disk to measure: `mkdir -p {dir}`"))
        }
        _ => Refusal::at_path("read", dir, error),
    })?;
    if !held.metadata().is_ok_and(|about| about.is_dir()) {
        let message = format!("`{}` is not a folder", dir.display());
        return Err(Refusal::request(message)
            .hint("a suite of files works in a folder: name one on the disk to measure"));
    }
    let _ = rustix::fs::flock(&held, FlockOperation::LockExclusive);
    Ok(held)
}

fn mark(folder: &Path) -> io::Result<Place> {
    let path = folder.join(MARKER);
    let marker = OpenOptions::new().write(true).create_new(true).open(path)?;
    rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive)?;
    Ok(Place { folder: folder.to_owned(), _marker: marker })
}

/// Removes what killed runs left in `dir`.
fn clean_up(dir: &Path) -> Result<(), Refusal> {
    let entries = fs::read_dir(dir).map_err(|error| Refusal::at_path("read", dir, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| Refusal::at_path("read", dir, error))?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(NAME));
        let is_numbered =
            number.is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit()));
        // Not what a symbolic link leads to.
        if !is_numbered || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let folder = entry.path();
        match fs::symlink_metadata(folder.join(MARKER)) {
            Ok(_) => {
                // Held until the folder is gone.
                let Some(_left) = left_behind(&folder) else { continue };
                remove(&folder).map_err(|error| {
                    Refusal::at_path("remove the rest of a run", &folder, error)
                })?;
            }
            // Only if it is empty.
            Err(_) => drop(fs::remove_dir(&folder)),
        }
    }
    Ok(())
}

/// The marker of a folder that is ours and that no run works in.
fn left_behind(folder: &Path) -> Option<File> {
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).ok()?;
    let marker = OpenOptions::new().read(true).custom_flags(flags).open(folder.join(MARKER));
    let marker = marker.ok().filter(|file| file.metadata().is_ok_and(|it| it.is_file()))?;
    let text = io::read_to_string(io::Read::take(&marker, 4096)).ok()?;
    rustix::fs::flock(&marker, FlockOperation::NonBlockingLockExclusive).ok()?;
    TEXT.starts_with(&text).then_some(marker)
}

/// Removes a folder of ours, its marker last.
fn remove(folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name() == MARKER {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(folder.join(MARKER))?;
    fs::remove_dir(folder)
}

/// Refuses a run for which `dir` has too little space.
pub(crate) fn has_space(dir: &Path, needed: Bytes) -> Result<(), Refusal> {
    let about =
        rustix::fs::statvfs(dir).map_err(|error| Refusal::at_path("read", dir, error.into()))?;
    let free = Bytes::new(about.f_bavail.saturating_mul(about.f_frsize));
    if free >= needed {
        return Ok(());
    }
    let (needed, free, dir) = (needed.about(), free.about(), dir.display());
    Err(Refusal::machine(format!("the suite needs {needed}, but `{dir}` has {free} free"))
        .hint("free some space, choose another folder, or give the suite a smaller size"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn only_a_folder_with_our_marker_that_no_run_uses_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str, marker: Option<&str>| {
            let folder = dir.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("data"), "x").unwrap();
            if let Some(text) = marker {
                fs::write(folder.join(MARKER), text).unwrap();
            }
        };
        make("drivelab-suite-1", Some(TEXT));
        make("drivelab-suite-2", None);
        make("drivelab-suite-3", Some("of somebody else"));
        make("drivelab-suite-4", Some(&TEXT[..10]));
        make("drivelab-suite-7", Some(""));
        make("drivelab-suite-mine", Some(TEXT));
        make("other", Some(TEXT));
        fs::create_dir(dir.path().join("drivelab-suite-5")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("other"), dir.path().join("drivelab-suite-6"))
            .unwrap();
        let one = Place::enter(dir.path()).unwrap();
        let two = Place::enter(dir.path()).unwrap();
        let kept =
            ["drivelab-suite-2", "drivelab-suite-3", "drivelab-suite-6", "drivelab-suite-mine"];
        let mut expected = kept.to_vec();
        expected.extend(["drivelab-suite-1", "drivelab-suite-4", "other"]);
        expected.sort_unstable();
        assert_eq!(names(dir.path()), expected);
        assert!(fs::exists(dir.path().join("other/data")).unwrap());
        one.leave().unwrap();
        drop(two);
        expected.retain(|name| !["drivelab-suite-1", "drivelab-suite-4"].contains(name));
        assert_eq!(names(dir.path()), expected);
    }

    #[test]
    fn a_fresh_folder_is_empty_and_the_marker_takes_no_block() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::enter(dir.path()).unwrap();
        assert_eq!(fs::metadata(place.path().join(MARKER)).unwrap().len(), 0);
        fs::create_dir(place.fresh("tree").unwrap().join("sub")).unwrap();
        assert_eq!(names(&place.fresh("tree").unwrap()), [""; 0]);
        Place::enter(&place.path().join("none")).unwrap_err();
        Place::enter(&place.path().join(MARKER)).unwrap_err();
    }

    #[test]
    fn too_little_space_is_said_before_anything_is_written() {
        let dir = tempfile::tempdir().unwrap();
        has_space(dir.path(), Bytes::kib(1)).unwrap();
        let refusal = has_space(dir.path(), Bytes::new(u64::MAX)).unwrap_err();
        assert_eq!(refusal.kind, drivelab_core::RefusalKind::Machine);
    }
}
