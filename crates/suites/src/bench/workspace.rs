//! The one folder in which a suite works, and what a killed run left of an earlier one.
//!
//! It is held by its descriptor from the moment in which it is made: who owns the folder above it
//! may move it, and replace it by a link to any other folder.
//!
//! Its marker is an empty file: one that held something would lie where the first file of the
//! benchmark does, and the files behind it would take other blocks of the file system's free space
//! than those of the original tool.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use drivelab_core::{Bytes, Refusal};
use drivelab_files::{Folder, Marked, Marker, trusted};

const NAME: &str = "drivelab-suite-";
/// Its text is what the marker held once; it counts still.
static MARKER: Marker = Marker {
    name: ".drivelab-suite",
    text: "A run of `drivelab run --suite` works here. If it was killed, the next run in the folder \
           above removes this one.\n",
};
/// More runs than this at the same time in one folder are refused.
const RUNS_MAX: u32 = 1000;

const EMPTIED: &str =
    "what the run left in it was removed: if the folder is now elsewhere, remove it by hand";

/// The folder of a run, removed with all that is in it.
#[derive(Debug)]
pub(crate) struct Workspace {
    own: Marked,
    /// As the user named the folder that it is in.
    dir: PathBuf,
}

impl Workspace {
    /// Makes a folder below `dir`, and removes those that killed runs left there.
    pub(crate) fn enter(dir: &Path) -> Result<Self, Refusal> {
        let parent = open(dir)?;
        for number in 1..=RUNS_MAX {
            match Marked::make(&parent, format!("{NAME}{number}"), &MARKER) {
                Ok(own) => {
                    debug_assert!(is_ours(OsStr::new(&format!("{NAME}{number}"))), "{number}");
                    own.remove_left_behind(is_ours).map_err(|error| {
                        Refusal::at_path("remove the rest of a run in", dir, error)
                    })?;
                    return Ok(Self { own, dir: dir.to_owned() });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Refusal::at_path("create a folder in", dir, error)),
            }
        }
        let dir = dir.display();
        Err(Refusal::request(format!("`{dir}` holds {RUNS_MAX} folders named `{NAME}N`"))
            .hint("remove them, or choose another folder"))
    }

    /// The open folder.
    pub(crate) fn folder(&self) -> &Folder {
        self.own.folder()
    }

    /// Makes an empty folder in it, and removes one of that name first.
    pub(crate) fn fresh(&self, name: &str) -> Result<Folder, Refusal> {
        let own = self.folder();
        own.make_empty_folder(name)
            .map_err(|error| Refusal::at_path("create", &own.path().join(name), error))
    }

    /// The same for a library that opens its files by name, which no other user may change.
    pub(crate) fn fresh_by_name(&self, name: &str) -> Result<PathBuf, Refusal> {
        let dir = trusted(&self.dir).map_err(|why| {
            Refusal::machine(format!("{why}, and this suite opens its files by name"))
                .hint("name a folder that only you and root can change, as those above it")
        })?;
        let folder = self.fresh(name)?;
        let below = folder.path().strip_prefix(&self.dir).expect("it was made below it");
        let path = dir.join(below);
        // The name must lead to the folder that was made, and not to one that was moved there.
        let named = Folder::open(&path).and_then(|named| named.identity());
        let same = named.and_then(|named| Ok(named == folder.identity()?));
        if same.map_err(|error| Refusal::at_path("read", &path, error))? {
            return Ok(path);
        }
        Err(Refusal::machine(format!("`{}` was moved", self.dir.display())))
    }

    /// Removes everything.
    pub(crate) fn leave(self) -> Result<(), Refusal> {
        let path = self.folder().path().to_owned();
        self.own.remove().map_err(|error| {
            let is_moved = error.kind() == ErrorKind::Other;
            let refusal = Refusal::at_path("remove", &path, error);
            if is_moved { refusal.hint(EMPTIED) } else { refusal }
        })
    }
}

/// Opens the folder that the user named.
fn open(dir: &Path) -> Result<Folder, Refusal> {
    Folder::open(dir).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let dir = dir.display();
            Refusal::request(format_args!("the folder `{dir}` does not exist"))
                .hint(format!("create it on the disk to measure: `mkdir -p {dir}`"))
        }
        ErrorKind::NotADirectory => {
            let message = format!("`{}` is not a folder", dir.display());
            Refusal::request(message)
                .hint("a suite of files works in a folder: name one on the disk to measure")
        }
        _ => Refusal::at_path("read", dir, error),
    })
}

fn is_ours(name: &OsStr) -> bool {
    let number = name.to_str().and_then(|name| name.strip_prefix(NAME));
    number.is_some_and(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit()))
}

/// Refuses a run for which there is too little space.
pub(crate) fn has_space(workspace: &Workspace, needed: Bytes) -> Result<(), Refusal> {
    let dir = workspace.dir.as_path();
    let about = rustix::fs::fstatvfs(workspace.folder())
        .map_err(|error| Refusal::at_path("read", dir, error.into()))?;
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
    use std::fs;

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
                fs::write(folder.join(MARKER.name), text).unwrap();
            }
        };
        make("drivelab-suite-1", Some(MARKER.text));
        make("drivelab-suite-2", None);
        make("drivelab-suite-3", Some("of somebody else"));
        make("drivelab-suite-4", Some(&MARKER.text[..10]));
        make("drivelab-suite-7", Some(""));
        make("drivelab-suite-mine", Some(MARKER.text));
        make("other", Some(MARKER.text));
        // Unmarked, though empty: a process that was killed just then left it, or a user made it.
        fs::create_dir(dir.path().join("drivelab-suite-5")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("other"), dir.path().join("drivelab-suite-6"))
            .unwrap();
        let one = Workspace::enter(dir.path()).unwrap();
        let two = Workspace::enter(dir.path()).unwrap();
        let kept =
            ["drivelab-suite-2", "drivelab-suite-3", "drivelab-suite-6", "drivelab-suite-mine"];
        let mut expected = kept.to_vec();
        expected.extend(["drivelab-suite-5", "drivelab-suite-1", "drivelab-suite-8", "other"]);
        expected.sort_unstable();
        assert_eq!(names(dir.path()), expected);
        assert!(fs::exists(dir.path().join("other/data")).unwrap());
        one.leave().unwrap();
        drop(two);
        expected.retain(|name| !["drivelab-suite-1", "drivelab-suite-8"].contains(name));
        assert_eq!(names(dir.path()), expected);
    }

    #[test]
    fn a_fresh_folder_is_empty_and_the_marker_takes_no_block() {
        let dir = tempfile::tempdir().unwrap();
        let place = Workspace::enter(dir.path()).unwrap();
        let path = place.folder().path();
        assert_eq!(fs::metadata(path.join(MARKER.name)).unwrap().len(), 0);
        place.fresh("tree").unwrap().make_folder("sub").unwrap();
        assert_eq!(names(place.fresh("tree").unwrap().path()), [""; 0]);
        Workspace::enter(&path.join("none")).unwrap_err();
        let refusal = Workspace::enter(&path.join(MARKER.name)).unwrap_err();
        assert!(refusal.message.ends_with("is not a folder"), "{refusal:?}");
    }

    #[test]
    fn too_little_space_is_said_before_anything_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let place = Workspace::enter(dir.path()).unwrap();
        has_space(&place, Bytes::kib(1)).unwrap();
        let refusal = has_space(&place, Bytes::new(u64::MAX)).unwrap_err();
        assert_eq!(refusal.kind, drivelab_core::RefusalKind::Machine);
    }
}
