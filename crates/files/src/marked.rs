//! A marked folder in a folder that belongs to others, and the remains of a killed process.
//!
//! A folder is ours if it belongs to this user and holds our marker. The marker is the first file
//! in it and the last one out, and a process that works in the folder holds a lock on it: a folder
//! with a marker that is not locked was left behind. A folder without one is never removed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, Mode, fchmod, flock, fstat};
use rustix::io::Errno;

use super::folder::{Folder, Identity};
use super::owners::trusted;

/// The file that says whose a folder is.
#[derive(Debug)]
pub struct Marker {
    /// Its name in the folder.
    pub name: &'static str,
    /// The text that it may hold, or the beginning of it. It is made empty.
    pub text: &'static str,
}

/// Names that are tried: those of killed processes of the same number may be there.
const TRIES: u32 = 1000;

/// A folder of this process, which is removed with all that is in it, once.
#[derive(Debug)]
pub struct Marked {
    parent: Folder,
    name: OsString,
    folder: Folder,
    marker: &'static Marker,
    /// Locked as long as the folder is in use.
    lock: File,
    is_removed: bool,
}

impl Marked {
    /// Makes a folder in `parent`, which only this user may enter. The name must be free.
    pub fn make(
        parent: &Folder,
        name: impl AsRef<OsStr>,
        marker: &'static Marker,
    ) -> io::Result<Self> {
        let name = name.as_ref();
        let folder = parent.make_folder(name)?;
        let made = Self::mark(parent, name, folder, marker);
        if let Err(Unmarked { is_ours: Some(identity), .. }) = &made {
            // Only if it is empty; the error that led here is the one to report.
            let _ = parent.remove_folder_if(name, *identity);
        }
        made.map_err(|unmarked| unmarked.why)
    }

    /// Makes a folder whose name begins so and is new, and removes those that processes which no
    /// longer run left there.
    pub fn make_new(parent: &Folder, prefix: &str, marker: &'static Marker) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        for _ in 0..TRIES {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("{prefix}{}-{number}", std::process::id());
            match Self::make(parent, name, marker) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => {
                    let made = made?;
                    // What cannot be removed only takes space.
                    let _ = made
                        .remove_left_behind(|name| name.as_bytes().starts_with(prefix.as_bytes()));
                    return Ok(made);
                }
            }
        }
        Err(io::Error::other(format!("it holds too many folders named `{prefix}N-N`")))
    }

    /// Makes such a folder in the one for temporary files, for programs that use it by its name.
    pub fn temporary(prefix: &str, marker: &'static Marker) -> io::Result<Self> {
        let parent = trusted(&std::env::temp_dir()).map_err(|why| {
            let advice = "set TMPDIR to a folder that only you and root can change, such as /tmp";
            io::Error::other(format!("{why}; {advice}"))
        })?;
        Self::make_new(&Folder::open(&parent)?, prefix, marker)
    }

    fn mark(
        parent: &Folder,
        name: &OsStr,
        folder: Folder,
        marker: &'static Marker,
    ) -> Result<Self, Unmarked> {
        let identity = folder.identity()?;
        // A file system without modes has no users to keep out either.
        let _ = fchmod(&folder, Mode::RWXU);
        // The owner of the parent may have replaced it by another folder.
        if !folder.entries()?.is_empty() {
            return Err(foreign().into());
        }
        debug_assert!(!marker.name.contains('/'), "a name, not a path");
        let lock = folder.create_new(marker.name)?;
        let (own, of_folder) = (fstat(&lock), fstat(&folder));
        let is_ours = own.and_then(|own| Ok(own.st_uid == of_folder?.st_uid));
        let locked = flock(&lock, FlockOperation::NonBlockingLockExclusive);
        let checked = match (is_ours, locked) {
            (Ok(true), Ok(())) => holds(&folder, marker, &lock),
            // Another process is removing it.
            (Ok(true), Err(Errno::WOULDBLOCK)) => Ok(false),
            (Ok(false), _) => Err(foreign()),
            (Err(error), _) | (_, Err(error)) => Err(error.into()),
        };
        match checked {
            Ok(true) => {}
            // It was taken for one that was left behind, before it was locked.
            Ok(false) => return Err(io::Error::from(ErrorKind::AlreadyExists).into()),
            Err(why) => {
                let _ = folder.remove_file(marker.name);
                return Err(Unmarked { why, is_ours: Some(identity) });
            }
        }
        let parent = parent.try_clone()?;
        Ok(Self { parent, name: name.to_owned(), folder, marker, lock, is_removed: false })
    }

    /// The folder of that name in `parent`, if a process that no longer runs left it: with our
    /// marker, unlocked, and of the same owner as `owner`.
    pub fn left_behind(
        parent: &Folder,
        name: impl AsRef<OsStr>,
        marker: &'static Marker,
        owner: &Owner,
    ) -> Option<Self> {
        let name = name.as_ref();
        let folder = parent.folder(name).ok()?;
        let lock = folder.read(marker.name).ok()?;
        let is_file = lock.metadata().is_ok_and(|about| about.is_file());
        let is_ours = fstat(&folder).is_ok_and(|about| about.st_uid == owner.0)
            && fstat(&lock).is_ok_and(|about| about.st_uid == owner.0);
        if !is_file || !is_ours {
            return None;
        }
        let mut text = String::new();
        // One byte more shows a longer text, which is not ours.
        (&lock).take(marker.text.len() as u64 + 1).read_to_string(&mut text).ok()?;
        if !marker.text.starts_with(&text) {
            return None;
        }
        flock(&lock, FlockOperation::NonBlockingLockExclusive).ok()?;
        // The process that worked in it may have removed it before the lock was taken.
        let is_there = folder.identity_of(marker.name).ok()? == Identity::of(&lock).ok()?;
        let parent = parent.try_clone().ok().filter(|_| is_there)?;
        Some(Self { parent, name: name.to_owned(), folder, marker, lock, is_removed: false })
    }

    /// Removes the folders in this one's parent that `is_name` and that processes which no longer
    /// run left there.
    pub fn remove_left_behind(&self, is_name: impl Fn(&OsStr) -> bool) -> io::Result<()> {
        let (owner, mut all) = (self.owner()?, Ok(()));
        for entry in self.parent.entries()? {
            if !entry.is_folder || !is_name(&entry.name) || entry.name == self.name {
                continue;
            }
            if let Some(left) = Self::left_behind(&self.parent, &entry.name, self.marker, &owner) {
                all = all.and(left.remove());
            }
        }
        all
    }

    /// To whom files belong that this process makes in it.
    pub fn owner(&self) -> io::Result<Owner> {
        Ok(Owner(fstat(&self.lock)?.st_uid))
    }

    /// The folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Removes it with all that is in it, the marker last. Where it was moved meanwhile, only what
    /// it held.
    pub fn remove(mut self) -> io::Result<()> {
        self.remove_once()
    }

    fn remove_once(&mut self) -> io::Result<()> {
        if self.is_removed {
            return Ok(());
        }
        // From here on the name may belong to another process.
        self.is_removed = true;
        self.folder.empty(OsStr::new(self.marker.name))?;
        self.folder.remove_file_if(self.marker.name, Identity::of(&self.lock)?)?;
        self.parent.remove_folder_if(&self.name, self.folder.identity()?)
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        // Where this fails a later run tries again; who needs to know has called `remove`.
        let _ = self.remove_once();
    }
}

/// To whom files belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner(u32);

/// Why a folder was not marked.
struct Unmarked {
    why: io::Error,
    /// Set where it is the one that was made.
    is_ours: Option<Identity>,
}

impl<E: Into<io::Error>> From<E> for Unmarked {
    fn from(error: E) -> Self {
        Self { why: error.into(), is_ours: None }
    }
}

/// Returns true if the marker in the folder is the file that is locked.
fn holds(folder: &Folder, marker: &Marker, lock: &File) -> io::Result<bool> {
    match folder.identity_of(marker.name) {
        Ok(identity) => Ok(identity == Identity::of(lock)?),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn foreign() -> io::Error {
    io::Error::other("another process replaced the folder that was made")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    static MARKER: Marker = Marker { name: ".mark", text: "a marker\n" };

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Each of them takes folders of the others that are not locked yet for remains.
    #[test]
    fn makers_at_once_all_have_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let parent = Folder::open(dir.path()).unwrap();
                    for _ in 0..500 {
                        let made = Marked::make_new(&parent, "run-", &MARKER).unwrap();
                        fs::write(made.folder().path().join("data"), "x").unwrap();
                    }
                });
            }
        });
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn only_marked_folders_that_are_not_in_use_are_left_behind() {
        let dir = tempfile::tempdir().unwrap();
        for (name, marker) in
            [("1", Some("")), ("2", Some("a mar")), ("3", None), ("4", Some("of others"))]
        {
            fs::create_dir(dir.path().join(name)).unwrap();
            fs::write(dir.path().join(name).join("data"), "x").unwrap();
            if let Some(text) = marker {
                fs::write(dir.path().join(name).join(MARKER.name), text).unwrap();
            }
        }
        fs::create_dir(dir.path().join("5")).unwrap();
        symlink("1", dir.path().join("6")).unwrap();
        let parent = Folder::open(dir.path()).unwrap();
        let used = Marked::make(&parent, "7", &MARKER).unwrap();
        let error = Marked::make(&parent, "3", &MARKER).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        let own = Marked::make(&parent, "8", &MARKER).unwrap();
        own.remove_left_behind(|_| true).unwrap();
        assert_eq!(names(dir.path()), ["3", "4", "5", "6", "7", "8"]);
        own.folder().write_new("file", b"x").unwrap();
        own.remove().unwrap();
        drop(used);
        assert_eq!(names(dir.path()), ["3", "4", "5", "6"]);
    }

    #[test]
    fn a_folder_of_another_owner_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let parent = Folder::open(dir.path()).unwrap();
        fs::create_dir(dir.path().join("1")).unwrap();
        fs::write(dir.path().join("1/.mark"), "").unwrap();
        let own = Marked::make(&parent, "2", &MARKER).unwrap().owner().unwrap();
        let other = Owner(own.0 + 1);
        assert!(Marked::left_behind(&parent, "1", &MARKER, &other).is_none());
        assert!(Marked::left_behind(&parent, "1", &MARKER, &own).is_some());
    }

    #[test]
    fn what_takes_the_name_of_a_folder_is_not_removed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("victim/sub")).unwrap();
        fs::write(at("victim/sub/file"), "kept").unwrap();
        let parent = Folder::open(dir.path()).unwrap();
        let own = Marked::make(&parent, "own", &MARKER).unwrap();
        own.folder().write_new("file", b"x").unwrap();
        fs::rename(at("own"), at("moved")).unwrap();
        symlink("victim", at("own")).unwrap();
        own.remove().unwrap_err();
        assert_eq!(names(dir.path()), ["moved", "own", "victim"]);
        assert_eq!(names(&at("moved")), [""; 0]);
        assert_eq!(fs::read_to_string(at("victim/sub/file")).unwrap(), "kept");
    }

    #[test]
    fn a_folder_is_removed_once() {
        let dir = tempfile::tempdir().unwrap();
        let parent = Folder::open(dir.path()).unwrap();
        let mut first = Marked::make(&parent, "own", &MARKER).unwrap();
        first.remove_once().unwrap();
        let second = Marked::make(&parent, "own", &MARKER).unwrap();
        second.folder().write_new("file", b"x").unwrap();
        drop(first);
        assert_eq!(names(&dir.path().join("own")), [".mark", "file"]);
    }
}
