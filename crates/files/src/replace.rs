//! Files that are replaced whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{FlockOperation, Gid, Mode, Uid, fchmod, fchown, flock};
use rustix::io::Errno;
use rustix::process::geteuid;

use super::folder::{Folder, Identity};

/// Removes the file at `path`, if it exists, and syncs its folder.
pub fn remove_file(path: &Path) -> io::Result<()> {
    let (folder, name) = match Folder::holding(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    match folder.remove_file(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.and_then(|()| folder.sync()),
    }
}

impl Folder {
    /// Replaces a file in it, or leaves it as it was; it is on the disk when this returns. A link
    /// is replaced itself.
    pub fn replace(&self, name: impl AsRef<OsStr>, content: &[u8]) -> io::Result<()> {
        let mut file = NewFile::beside(self.try_clone()?, name.as_ref().to_owned())?;
        file.write_all(content)?;
        file.finish()
    }
}

/// A file that is being written. Dropped without [`NewFile::finish`], it was never there.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    /// None if the file itself is written, as a pipe or a device is.
    pending: Option<Pending>,
}

#[derive(Debug)]
struct Pending {
    folder: Folder,
    target: OsString,
    temporary: OsString,
}

impl NewFile {
    /// Makes a temporary file, with the permissions of the one that it replaces.
    pub(crate) fn beside(folder: Folder, target: OsString) -> io::Result<Self> {
        let existing = folder.read(&target).and_then(|file| file.metadata());
        let (temporary, file) = make_temporary(&folder, &target)?;
        let new = Self { file, pending: Some(Pending { folder, target, temporary }) };
        if let Some(about) = existing.ok().filter(Metadata::is_file) {
            let (user, group) = (Uid::from_raw(about.uid()), Gid::from_raw(about.gid()));
            // Only root may give files away; that it can be written matters more than whose it is.
            let _ = fchown(&new.file, Some(user), Some(group));
            fchmod(&new.file, Mode::from_raw_mode(about.permissions().mode() & 0o7777))?;
        }
        Ok(new)
    }

    /// Wraps a file that is written as it is.
    pub(crate) fn as_it_is(file: File) -> Self {
        Self { file, pending: None }
    }

    /// The file itself.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives it the name of the earlier one.
    pub fn finish(mut self) -> io::Result<()> {
        let Some(pending) = &self.pending else { return Ok(()) };
        // The content reaches the disk before the name: after a power cut the name leads to either
        // file, never to an empty one.
        self.file.sync_all()?;
        // The owner of the folder may have replaced it by another file.
        let own = Identity::of(&self.file)?;
        pending.folder.rename_if(&pending.temporary, &pending.target, own)?;
        // Nothing is left for `drop` to remove.
        let folder = self.pending.take().map(|pending| pending.folder);
        folder.map_or(Ok(()), |folder| folder.sync())
    }
}

impl Write for NewFile {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.file.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(Pending { folder, temporary, .. }) = &self.pending
            && let Ok(own) = Identity::of(&self.file)
        {
            // The error that led here is the one to report.
            let _ = folder.remove_file_if(temporary, own);
        }
    }
}

/// Maximum length of a file's name in bytes, on any file system of Linux.
const NAME_MAX: usize = 255;
/// Temporary files that are tried: as many processes may write one file at once.
const TRIES: u32 = 1000;

/// Creates a temporary file for `target` that no other process or thread uses.
///
/// It stays locked while its process lives, so a file that a killed process left behind can be
/// recognised, and the next writer of the same target removes it.
fn make_temporary(folder: &Folder, target: &OsStr) -> io::Result<(OsString, File)> {
    for number in 0..TRIES {
        // Only drivelab makes such a name: files of other programs stay.
        let ending = format!(".drivelab-{number}.partial");
        let target = target.as_bytes();
        debug_assert!(ending.len() < NAME_MAX, "room for the name itself");
        // Only the end of the name matters here: a longer one would be refused.
        let kept = &target[..target.len().min(NAME_MAX - 1 - ending.len())];
        let name = OsString::from_vec([b".", kept, ending.as_bytes()].concat());
        remove_abandoned(folder, &name);
        let file = match folder.create_new(&name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            made => made?,
        };
        // Between the two calls another process may have removed it as abandoned.
        if is_locked_by_us(&file) && folder.identity_of(&name).ok() == Some(Identity::of(&file)?) {
            return Ok((name, file));
        }
    }
    Err(io::Error::other("its folder holds too many temporary files (`.NAME.drivelab-N.partial`)"))
}

fn is_locked_by_us(file: &File) -> bool {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => true,
        // A file system without locks: the name alone keeps processes apart.
        Err(error) => error != Errno::WOULDBLOCK,
    }
}

/// Removes a temporary file of this user that no process has locked.
fn remove_abandoned(folder: &Folder, name: &OsStr) {
    let Ok(file) = folder.read(name) else { return };
    let is_abandoned =
        file.metadata().is_ok_and(|about| about.is_file() && about.uid() == geteuid().as_raw())
            && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    if let (true, Ok(identity)) = (is_abandoned, Identity::of(&file)) {
        // If it cannot be removed, the next name is tried.
        let _ = folder.remove_file_if(name, identity);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::{create, replace};

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        replace(&path, b"one").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let mut new = create(&path).unwrap();
        new.write_all(b"half of").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        drop(new);
        assert_eq!(
            (fs::read(&path).unwrap(), names(dir.path())),
            (b"one".into(), vec!["file".into()])
        );
        replace(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(names(dir.path()), ["file"]);
        remove_file(&path).unwrap();
        remove_file(&path).unwrap();
        remove_file(&dir.path().join("none/file")).unwrap();
        assert_eq!(names(dir.path()), [""; 0]);
    }

    #[test]
    fn a_temporary_file_of_a_killed_process_is_removed_by_the_next_writer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(dir.path().join(".file.drivelab-0.partial"), "half of").unwrap();
        replace(&path, b"whole").unwrap();
        assert_eq!(names(dir.path()), ["file"]);
        fs::write(dir.path().join(".file.partial"), "another program's").unwrap();
        replace(&path, b"whole").unwrap();
        assert_eq!(names(dir.path()), [".file.partial", "file"]);
        remove_file(&dir.path().join(".file.partial")).unwrap();
        let mut first = create(&path).unwrap();
        first.write_all(b"first").unwrap();
        // A temporary file that is still being written stays.
        replace(&path, b"second").unwrap();
        assert_eq!(names(dir.path()), [".file.drivelab-0.partial", "file"]);
        first.finish().unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), names(dir.path())),
            (b"first".into(), vec!["file".into()])
        );
    }

    #[test]
    fn what_takes_the_name_of_the_temporary_file_does_not_become_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "earlier").unwrap();
        let mut new = create(&at("file")).unwrap();
        new.write_all(b"content").unwrap();
        let temporary = at(".file.drivelab-0.partial");
        fs::rename(&temporary, at("moved")).unwrap();
        fs::write(&temporary, "another process wrote this").unwrap();
        new.finish().unwrap_err();
        assert_eq!(fs::read_to_string(at("file")).unwrap(), "earlier");
        assert_eq!(fs::read_to_string(&temporary).unwrap(), "another process wrote this");
    }

    #[test]
    fn links_are_followed_and_devices_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        symlink("sub/file", at("link")).unwrap();
        replace(&at("link"), b"first").unwrap();
        replace(&at("link"), b"content").unwrap();
        assert_eq!(fs::read(at("sub/file")).unwrap(), b"content");
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        symlink("loop", at("loop")).unwrap();
        replace(&at("loop"), b"x").unwrap_err();
        replace(Path::new("/dev/null"), b"x").unwrap();
        replace(&at("sub"), b"x").unwrap_err();
        replace(&at("none/file"), b"x").unwrap_err();
    }

    #[test]
    fn a_link_of_another_user_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("victim"), "kept").unwrap();
        symlink("victim", at("link")).unwrap();
        if std::os::unix::fs::lchown(at("link"), Some(65_534), None).is_err() {
            // Only root can make a link of another user.
            return;
        }
        replace(&at("link"), b"x").unwrap_err();
        assert_eq!(fs::read(at("victim")).unwrap(), b"kept");
    }

    #[test]
    fn two_that_replace_one_file_at_once_both_write_it_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("n".repeat(255));
        let (mut one, mut two) = (create(&path).unwrap(), create(&path).unwrap());
        one.write_all(b"one").unwrap();
        two.write_all(b"two").unwrap();
        one.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        two.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(dir.path()).len(), 1);
    }
}
