//! An open folder, and what is done in it.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat, unlinkat,
};
use rustix::io::Errno;

/// The identity of a file, independent of its names: device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity(u64, u64);

impl Identity {
    /// Returns the identity of an open file.
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        Ok(Self::from_stat(&fstat(file)?))
    }

    #[expect(clippy::useless_conversion, reason = "the types differ between architectures")]
    fn from_stat(about: &Stat) -> Self {
        Self(u64::from(about.st_dev), u64::from(about.st_ino))
    }
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the folder.
    pub name: OsString,
    /// It is a folder, and not a link to one.
    pub is_folder: bool,
}

/// An open folder. What is done in it is done there, wherever its name leads meanwhile.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    /// The path that it was opened by, for messages.
    path: PathBuf,
}

/// Maximum number of links that lead to a file or folder, as the kernel has it.
pub(crate) const LINKS_MAX: u32 = 40;

/// Opens folders only, and waits for no pipe.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// Opens a folder; one that this user may not list, for names in it only.
fn open(at: BorrowedFd<'_>, path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    match openat(at, path, FOLDER | OFlags::RDONLY | flags, Mode::empty()) {
        Err(Errno::ACCESS) => openat(at, path, FOLDER | OFlags::PATH | flags, Mode::empty()),
        opened => opened,
    }
}

impl Folder {
    /// Opens the folder at `path`, as the user named it: through links.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { fd: open(CWD, path, OFlags::empty())?, path: path.to_owned() })
    }

    /// Opens the folder at `path`, which is made if it is missing, with those above it. A link is
    /// followed if this user or root made it.
    ///
    /// The names of new folders are written to the disk.
    pub fn make(path: &Path) -> io::Result<Self> {
        // Such as `.` or `/`, which no link can replace.
        let Some(name) = path.file_name() else { return Self::open(path) };
        let above = above(path);
        let parent = match Self::open(above) {
            Err(error) if error.kind() == ErrorKind::NotFound => Self::make(above)?,
            opened => opened?,
        };
        let fd = match parent.behind_own_links(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                parent.make_or_open_folder(name)?.fd
            }
            opened => opened?,
        };
        Ok(Self { fd, path: path.to_owned() })
    }

    /// Opens the folder that holds `path`, and gives the name that `path` has in it. A link to the
    /// folder is followed if this user or root made it.
    pub fn holding(path: &Path) -> io::Result<(Self, OsString)> {
        let name = last(path)?.to_owned();
        let folder = above(path);
        let Some(own) = folder.file_name() else { return Ok((Self::open(folder)?, name)) };
        let fd = Self::open(above(folder))?.behind_own_links(own)?;
        Ok((Self { fd, path: folder.to_owned() }, name))
    }

    /// Opens a folder in it, or the one that a chain of links leads to, each of which this user or
    /// root made.
    fn behind_own_links(&self, name: &OsStr) -> io::Result<OwnedFd> {
        let (mut at, mut name) = (self.try_clone()?, name.to_owned());
        for _ in 0..LINKS_MAX {
            debug_assert!(component(&name).is_ok(), "{}", name.display());
            let error = match at.folder(&name) {
                Ok(folder) => return Ok(folder.fd),
                Err(error) => error,
            };
            // By its target as it was read, and not by its name once more.
            let Some(target) = at.link(&name)? else { return Err(error) };
            // Such a link leads to an open folder, and its target is only a description of that.
            if at.is_of_processes()? {
                return Ok(open(at.as_fd(), Path::new(&name), OFlags::empty())?);
            }
            // `/` and `..`, which no link can replace.
            if target.file_name().is_none() {
                return Ok(open(at.as_fd(), &target, OFlags::empty())?);
            }
            (at, name) = at.holding_from(&target)?;
        }
        Err(Errno::LOOP.into())
    }

    /// Returns true for folders of `/proc`, whose links only the kernel can follow.
    pub(crate) fn is_of_processes(&self) -> io::Result<bool> {
        Ok(rustix::fs::fstatfs(&self.fd)?.f_type == rustix::fs::PROC_SUPER_MAGIC)
    }

    /// As [`Folder::holding`], where `path` begins in this folder.
    pub(crate) fn holding_from(&self, path: &Path) -> io::Result<(Self, OsString)> {
        let folder = above(path);
        let fd = open(self.fd.as_fd(), folder, OFlags::empty())?;
        Ok((Self { fd, path: self.path.join(folder) }, last(path)?.to_owned()))
    }

    /// The path that it was opened by; for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A name that leads to this folder by its descriptor, for this process and the ones that it
    /// starts until they replace their program.
    pub fn by_descriptor(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.fd.as_raw_fd()))
    }

    /// Returns the identity of the folder.
    pub fn identity(&self) -> io::Result<Identity> {
        Identity::of(&self.fd)
    }

    /// Another descriptor of the same folder.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { fd: self.fd.try_clone()?, path: self.path.clone() })
    }

    /// Opens a folder in it; refuses a link to one.
    pub fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = component(name.as_ref())?;
        let fd = open(self.fd.as_fd(), Path::new(name), OFlags::NOFOLLOW)?;
        Ok(Self { fd, path: self.path.join(name) })
    }

    /// Makes a folder in it that only this user may enter, and opens it.
    pub fn make_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        rustix::fs::mkdirat(&self.fd, component(name.as_ref())?, Mode::RWXU)?;
        self.folder(name)
    }

    /// Opens a folder in it, which is made if it is missing.
    pub fn make_or_open_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let mode = Mode::from_raw_mode(0o777);
        match rustix::fs::mkdirat(&self.fd, component(name.as_ref())?, mode) {
            Ok(()) => self.sync()?,
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        self.folder(name)
    }

    /// Makes a folder in it, and removes any file or folder of that name first.
    pub fn make_empty_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        // A folder that is not there costs one call, as it does the tools that are compared.
        match self.make_folder(name.as_ref()) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made,
        }
        self.remove_tree(name.as_ref())?;
        self.make_folder(name)
    }

    /// Opens a file in it to read; refuses a link to one, and waits for no pipe.
    pub fn read(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.file(name, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty())
    }

    /// Makes a file in it, which must not exist.
    pub fn create_new(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.file(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, ANY)
    }

    /// Opens a file in it to read it and to add to it, which is made if it is missing; refuses a
    /// link, and waits for no pipe.
    pub fn append(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK;
        self.file(name, flags, ANY)
    }

    /// Makes a file in it, or opens the existing one, unchanged, to read and write; refuses a
    /// link, and waits for no pipe.
    pub fn create_or_open(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.file(name, OFlags::RDWR | OFlags::CREATE | OFlags::NONBLOCK, ANY)
    }

    /// Makes a file with that content, which must not exist.
    pub fn write_new(&self, name: impl AsRef<OsStr>, content: &[u8]) -> io::Result<()> {
        io::Write::write_all(&mut self.create_new(name)?, content)
    }

    pub(crate) fn file(
        &self,
        name: impl AsRef<OsStr>,
        flags: OFlags,
        mode: Mode,
    ) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.fd, component(name.as_ref())?, flags, mode)?;
        Ok(File::from(file))
    }

    /// True in the folder of devices, except where programs keep files that they share. A file
    /// there would take memory, and the name of a drive that comes later.
    pub fn is_of_devices(&self) -> bool {
        // By the descriptor, as the path may have led through links.
        let name = std::fs::read_link(self.by_descriptor()).unwrap_or_default();
        name.starts_with("/dev") && !name.starts_with("/dev/shm")
    }

    /// Refuses a new file among devices, where a wrong name of one would make it.
    pub fn refuse_new_file(&self) -> io::Result<()> {
        if self.is_of_devices() {
            let what = "it would be a file among the devices";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        Ok(())
    }

    /// Returns the identity of the file of that name in it; of a link itself, not of its target.
    pub fn identity_of(&self, name: impl AsRef<OsStr>) -> io::Result<Identity> {
        Ok(Identity::from_stat(&self.stat(component(name.as_ref())?)?))
    }

    pub(crate) fn stat(&self, name: &OsStr) -> rustix::io::Result<Stat> {
        statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Everything in it, in the order of the file system.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            debug_assert!(component(&name).is_ok(), "{}", name.display());
            let is_folder = match entry.file_type() {
                // Not every file system says the type of an entry (`man 3 readdir`).
                FileType::Unknown => {
                    FileType::from_raw_mode(self.stat(&name)?.st_mode) == FileType::Directory
                }
                kind => kind == FileType::Directory,
            };
            entries.push(Entry { name, is_folder });
        }
        Ok(entries)
    }

    /// Renames a file or folder in it, and replaces any file of the new name.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        let (from, to) = (component(from.as_ref())?, component(to.as_ref())?);
        Ok(rustix::fs::renameat(&self.fd, from, &self.fd, to)?)
    }

    /// Renames a file in it if it is still that one, and replaces any file of the new name.
    pub(crate) fn rename_if(&self, from: &OsStr, to: &OsStr, is: Identity) -> io::Result<()> {
        self.check_identity(from, is)?;
        self.rename(from, to)
    }

    /// Gives a file in it another name, which must be free.
    pub fn rename_new(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        use rustix::fs::{RenameFlags, renameat_with};
        let (from, to) = (component(from.as_ref())?, component(to.as_ref())?);
        match renameat_with(&self.fd, from, &self.fd, to, RenameFlags::NOREPLACE) {
            // A file system that cannot guarantee it: a link is made under a free name only.
            Err(Errno::INVAL | Errno::NOSYS) if self.stat(to).is_ok() => Err(Errno::EXIST.into()),
            Err(Errno::INVAL | Errno::NOSYS) => self.rename(from, to),
            renamed => Ok(renamed?),
        }
    }

    /// Removes a file in it, or a link; no folder.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        Ok(unlinkat(&self.fd, component(name.as_ref())?, AtFlags::empty())?)
    }

    /// Removes a file in it if it is still that one.
    pub fn remove_file_if(&self, name: impl AsRef<OsStr>, is: Identity) -> io::Result<()> {
        self.check_identity(name.as_ref(), is)?;
        self.remove_file(name)
    }

    /// Removes an empty folder in it if it is still that one.
    pub(crate) fn remove_folder_if(&self, name: &OsStr, is: Identity) -> io::Result<()> {
        self.check_identity(name, is)?;
        Ok(unlinkat(&self.fd, component(name)?, AtFlags::REMOVEDIR)?)
    }

    fn check_identity(&self, name: &OsStr, is: Identity) -> io::Result<()> {
        match self.identity_of(name) {
            Ok(there) if there == is => Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Err(replaced()),
        }
    }

    /// Removes a file, or a folder with all that is in it. Follows no link and enters no other file
    /// system.
    pub fn remove_tree(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let name = CString::new(component(name.as_ref())?.as_bytes())?;
        remove(self.fd.as_fd(), &name, fstat(&self.fd)?.st_dev)
    }

    /// Removes all that is in it but `kept`.
    pub(crate) fn empty(&self, kept: &OsStr) -> io::Result<()> {
        remove_below(self.fd.as_fd(), fstat(&self.fd)?.st_dev, kept.as_bytes())
    }

    /// Writes its names to the disk. Some network file systems cannot, and promise nothing; of a
    /// folder that this user may not list nothing can be asked.
    pub fn sync(&self) -> io::Result<()> {
        match rustix::fs::fsync(&self.fd) {
            Err(Errno::INVAL | Errno::OPNOTSUPP | Errno::BADF) => Ok(()),
            synced => Ok(synced?),
        }
    }
}

/// As `File::create` has it, without what the user's mask takes away.
pub(crate) const ANY: Mode = Mode::from_raw_mode(0o666);

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Refuses what is not one name: a path could lead through a link.
pub(crate) fn component(name: &OsStr) -> io::Result<&OsStr> {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes == b"." || bytes == b".." || bytes.contains(&b'/') {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a name in a folder"));
    }
    Ok(name)
}

/// The folder of a path, as it is spelled.
fn above(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// The last name of a path.
fn last(path: &Path) -> io::Result<&OsStr> {
    path.file_name().ok_or_else(|| {
        io::Error::new(ErrorKind::InvalidInput, "it does not end in the name of a file")
    })
}

fn replaced() -> io::Error {
    io::Error::other("it was moved, or another took its name, which is left alone")
}

fn remove(at: BorrowedFd<'_>, name: &std::ffi::CStr, device: u64) -> io::Result<()> {
    debug_assert!(!name.to_bytes().contains(&b'/'), "a name, not a path");
    // A file takes one call. A folder fails with EISDIR, on some file systems with EPERM.
    match unlinkat(at, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        removed => return Ok(removed?),
    }
    let folder = openat(at, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
    let own = fstat(&folder)?;
    // What is mounted below a folder belongs to another.
    if own.st_dev != device {
        return Err(Errno::XDEV.into());
    }
    remove_below(folder.as_fd(), device, b"")?;
    // The name may lead to another folder by now, which was not emptied and is left alone.
    let there = statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if Identity::from_stat(&there) != Identity::from_stat(&own) {
        return Err(replaced());
    }
    Ok(unlinkat(at, name, AtFlags::REMOVEDIR)?)
}

/// The number of times that a folder is read while it is emptied: a program that adds files
/// meanwhile must not make that endless.
const PASSES_MAX: u32 = 1_000;

fn remove_below(folder: BorrowedFd<'_>, device: u64, kept: &[u8]) -> io::Result<()> {
    debug_assert!(!kept.contains(&b'/'), "a name, not a path");
    // A folder of NTFS is a tree: names move in it while others are removed, and are passed over.
    for _ in 0..PASSES_MAX {
        let mut removed = 0_u64;
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if ![b".".as_slice(), b"..", kept].contains(&name.to_bytes()) {
                remove(folder, name, device)?;
                removed += 1;
            }
        }
        if removed == 0 {
            return Ok(());
        }
    }
    Err(Errno::NOTEMPTY.into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_is_made_with_those_above_it_and_never_through_a_link_of_others() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        Folder::make(&at("a/b/c")).unwrap().write_new("file", b"x").unwrap();
        assert!(at("a/b/c/file").exists());
        symlink("a/b", at("link")).unwrap();
        let linked = Folder::make(&at("link")).unwrap();
        assert_eq!(linked.path(), at("link"));
        linked.folder("c").unwrap();
        symlink("link", at("chain")).unwrap();
        Folder::make(&at("chain")).unwrap().folder("c").unwrap();
        symlink("round", at("round")).unwrap();
        let error = Folder::make(&at("round")).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::LOOP.raw_os_error()));
        symlink("..", at("a/up")).unwrap();
        Folder::make(&at("a/up")).unwrap().folder("a").unwrap();
        Folder::make(&at("link/d/e")).unwrap();
        assert!(at("a/b/d/e").is_dir());
        Folder::make(&at("a/b/c/file")).unwrap_err();
        if std::os::unix::fs::lchown(at("link"), Some(65_534), None).is_ok() {
            Folder::make(&at("link")).unwrap_err();
            Folder::holding(&at("link/file")).unwrap_err();
            // Also behind a link of this user.
            Folder::make(&at("chain")).unwrap_err();
            Folder::holding(&at("chain/file")).unwrap_err();
        }
    }

    #[test]
    fn a_tree_is_removed_and_what_its_links_lead_to_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("victim/sub")).unwrap();
        fs::write(at("victim/sub/file"), "kept").unwrap();
        fs::create_dir_all(at("tree/a/b")).unwrap();
        fs::write(at("tree/a/b/file"), "x").unwrap();
        symlink(at("victim"), at("tree/a/link")).unwrap();
        symlink(at("victim"), at("link")).unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        folder.remove_tree("tree").unwrap();
        assert!(!at("tree").exists());
        folder.folder("link").unwrap_err();
        folder.read("link").unwrap_err();
        folder.create_or_open("link").unwrap_err();
        folder.remove_tree("link").unwrap();
        fs::symlink_metadata(at("link")).unwrap_err();
        assert_eq!(fs::read_to_string(at("victim/sub/file")).unwrap(), "kept");
        let error = folder.remove_tree("tree").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    #[test]
    fn what_is_done_in_a_folder_is_done_there_when_its_name_leads_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let parent = Folder::open(dir.path()).unwrap();
        let folder = parent.make_folder("own").unwrap();
        fs::create_dir(at("victim")).unwrap();
        fs::rename(at("own"), at("moved")).unwrap();
        symlink(at("victim"), at("own")).unwrap();
        folder.write_new("file", b"content").unwrap();
        folder.make_folder("sub").unwrap();
        assert_eq!(fs::read_dir(at("victim")).unwrap().count(), 0);
        assert_eq!(fs::read(at("moved/file")).unwrap(), b"content");
        assert_eq!(folder.entries().unwrap().len(), 2);
        let identity = folder.identity().unwrap();
        parent.remove_folder_if(OsStr::new("own"), identity).unwrap_err();
        folder.empty(OsStr::new("")).unwrap();
        parent.remove_folder_if(OsStr::new("moved"), identity).unwrap();
    }

    #[test]
    fn only_names_in_the_folder_are_taken() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        for name in ["", ".", "..", "../x", "/etc", "a/b"] {
            assert_eq!(folder.create_new(name).unwrap_err().kind(), ErrorKind::InvalidInput);
            assert_eq!(folder.remove_tree(name).unwrap_err().kind(), ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn a_pipe_is_not_waited_for_and_is_no_folder() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(Folder::open(&pipe).unwrap_err().kind(), ErrorKind::NotADirectory);
        Folder::open(dir.path()).unwrap().read("pipe").unwrap();
    }

    #[test]
    fn a_name_that_is_taken_stays() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap();
        folder.write_new("one", b"1").unwrap();
        folder.write_new("two", b"2").unwrap();
        folder.rename_new("one", "two").unwrap_err();
        folder.rename_new("one", "three").unwrap();
        let two = folder.identity_of("two").unwrap();
        folder.remove_file_if("three", two).unwrap_err();
        folder.remove_file_if("two", two).unwrap();
        assert_eq!(folder.entries().unwrap(), [Entry { name: "three".into(), is_folder: false }]);
    }
}
