//! A file that a user named, looked up once.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, openat, statat};
use rustix::io::Errno;

use super::folder::{ANY, Folder, LINKS_MAX, component};
use super::links::refuse_other_owner;
use super::replace::NewFile;

/// A file that will be read, replaced or made, whether it exists or not.
///
/// The name is looked up once: what was found to be harmless is what is opened or replaced, however
/// the folders of the path are renamed meanwhile. Only links of this user and of root are followed
/// to it: in a folder of others any link may appear.
#[derive(Debug)]
pub struct Target(At);

#[derive(Debug)]
enum At {
    /// By its name in a folder; the name is not that of a link.
    Name(Folder, OsString),
    /// By the name of a link to a file that is open already, as `/dev/stdout` is: only the kernel
    /// can follow it.
    Open(Folder, OsString),
}

/// The kind of file that has the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    File,
    /// A pipe with a name.
    Pipe,
    /// A socket, a character device, or a pipe that is open already.
    Stream,
}

impl Target {
    /// Looks up a file in an open folder.
    pub fn within(folder: &Folder, name: impl AsRef<OsStr>) -> io::Result<Self> {
        Self::behind_links(folder.try_clone()?, component(name.as_ref())?.to_owned())
    }

    /// Looks up the file at `path`, whose folder must exist.
    pub fn find(path: &Path) -> io::Result<Self> {
        let (folder, name) = Folder::holding(path)?;
        Self::behind_links(folder, name)
    }

    fn behind_links(mut folder: Folder, mut name: OsString) -> io::Result<Self> {
        for _ in 0..LINKS_MAX {
            debug_assert!(component(&name).is_ok(), "{}", name.display());
            let Some(target) = folder.link(&name)? else { return Ok(Self(At::Name(folder, name))) };
            if folder.is_of_processes()? {
                return Ok(Self(At::Open(folder, name)));
            }
            (folder, name) = folder.holding_from(&target)?;
        }
        Err(Errno::LOOP.into())
    }

    /// Returns the folder and the name in it, behind all links; nothing for a file that is open
    /// already.
    pub fn location(&self) -> Option<(&Folder, &OsStr)> {
        match &self.0 {
            At::Name(folder, name) => Some((folder, name)),
            At::Open(..) => None,
        }
    }

    /// Opens the regular file of that name to read it; nothing for a missing file, and for a pipe
    /// or a device.
    pub fn existing(&self) -> io::Result<Option<File>> {
        match self.found()? {
            Found::File => self.file(OFlags::RDONLY | OFlags::NONBLOCK).map(Some),
            Found::Nothing | Found::Pipe | Found::Stream => Ok(None),
        }
    }

    /// Opens the file to read and write it, as it is; makes it if it is missing.
    pub fn open_or_create(&self) -> io::Result<File> {
        match self.found()? {
            Found::Nothing => self.file(OFlags::RDWR | OFlags::CREATE | OFlags::EXCL),
            Found::File => self.file(OFlags::RDWR | OFlags::NONBLOCK),
            Found::Pipe | Found::Stream => self.file(OFlags::RDWR),
        }
    }

    /// Syncs the folder that holds the file, so that a new name lasts.
    pub fn sync_folder(&self) -> io::Result<()> {
        match &self.0 {
            At::Name(folder, _) => folder.sync(),
            At::Open(..) => Ok(()),
        }
    }

    /// Begins to replace the file: it is as it was until [`NewFile::finish`].
    pub fn create(self) -> io::Result<NewFile> {
        let kind = self.found()?;
        match kind {
            Found::Stream => return Ok(NewFile::as_it_is(self.file(OFlags::WRONLY)?)),
            Found::Pipe => return self.pipe().map(NewFile::as_it_is),
            Found::Nothing | Found::File => {}
        }
        if let At::Name(folder, name) = &self.0 {
            match NewFile::beside(folder.try_clone()?, name.clone()) {
                // A file that this user may write in a folder that this user may not.
                Err(error)
                    if error.kind() == ErrorKind::PermissionDenied && kind == Found::File => {}
                made => return made,
            }
        }
        let opened = self.file(OFlags::WRONLY | OFlags::NONBLOCK)?;
        // Emptied only now: O_TRUNC would have emptied any file before it was judged.
        opened.set_len(0)?;
        Ok(NewFile::as_it_is(opened))
    }

    /// Replaces the file, or leaves it as it was; it is on the disk when this returns.
    pub fn replace(self, content: &[u8]) -> io::Result<()> {
        let mut file = self.create()?;
        file.write_all(content)?;
        file.finish()
    }

    /// Refuses what is never written to: folders, block devices, pipes of others, and a new file
    /// among devices.
    fn found(&self) -> io::Result<Found> {
        let about = match &self.0 {
            At::Name(folder, name) => folder.stat(name),
            At::Open(folder, name) => statat(folder, name, AtFlags::empty()),
        };
        let about = match about {
            Err(Errno::NOENT) => {
                if let Some((folder, _)) = self.location() {
                    folder.refuse_new_file()?;
                }
                return Ok(Found::Nothing);
            }
            about => about?,
        };
        match FileType::from_raw_mode(about.st_mode) {
            FileType::RegularFile => Ok(Found::File),
            FileType::Directory => Err(ErrorKind::IsADirectory.into()),
            FileType::BlockDevice => {
                Err(io::Error::new(ErrorKind::InvalidInput, "it is a block device, not a file"))
            }
            // Its owner could keep us waiting for the other end.
            FileType::Fifo if matches!(self.0, At::Name(..)) => {
                refuse_other_owner(about.st_uid, "a pipe", "opened")?;
                Ok(Found::Pipe)
            }
            _ => Ok(Found::Stream),
        }
    }

    /// Opens a pipe to write to it, without waiting for a reader that may never come.
    fn pipe(&self) -> io::Result<File> {
        let At::Name(folder, name) = &self.0 else { return self.file(OFlags::WRONLY) };
        let pipe = match folder.file(name, OFlags::WRONLY | OFlags::NONBLOCK, ANY) {
            Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
                return Err(io::Error::other("it is a pipe that no program reads"));
            }
            opened => opened?,
        };
        if !pipe.metadata()?.file_type().is_fifo() {
            return Err(io::Error::other("the file was replaced while it was being opened"));
        }
        // Writes do wait, for a reader that is slow.
        fcntl_setfl(&pipe, fcntl_getfl(&pipe)? - OFlags::NONBLOCK)?;
        Ok(pipe)
    }

    /// Opens it, and refuses it if it is another kind of file by now.
    fn file(&self, flags: OFlags) -> io::Result<File> {
        let file = match &self.0 {
            At::Name(folder, name) => folder.file(name, flags, ANY)?,
            At::Open(folder, name) => {
                File::from(openat(folder, name, flags | OFlags::CLOEXEC, Mode::empty())?)
            }
        };
        debug_assert!(!flags.contains(OFlags::TRUNC), "an existing file is judged first");
        // Only a stream is opened without these flags: it is waited for, and never made.
        let expected = flags.intersects(OFlags::NONBLOCK | OFlags::CREATE);
        if file.metadata()?.is_file() != expected {
            return Err(io::Error::other("the file was replaced while it was being opened"));
        }
        Ok(file)
    }
}

/// Replaces the file at `path`, or leaves it as it was; it is on the disk when this returns.
///
/// A link is followed, and a pipe or a character device is written to. The file keeps its
/// permissions.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    Target::find(path)?.replace(content)
}

/// Begins to replace the file at `path`: it is as it was until [`NewFile::finish`].
pub fn create(path: &Path) -> io::Result<NewFile> {
    Target::find(path)?.create()
}

/// Looks up the file at `path`, through links, to learn its kind before it is opened: opening a
/// pipe waits for its other end, and opening a tape rewinds it. What is returned has metadata only,
/// and is opened by [`reopen_to_read`] and [`reopen_to_write`].
pub fn look_up(path: &Path) -> io::Result<File> {
    Ok(File::from(openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?))
}

/// Opens the regular file at `path` to read it, through links; nothing for any other kind of file,
/// which is not opened.
pub fn read_regular(path: &Path) -> io::Result<Option<File>> {
    let found = look_up(path)?;
    found.metadata()?.is_file().then(|| reopen_to_read(&found)).transpose()
}

/// Opens a file that was looked up or is open, to read it, even if another has its name by now.
pub fn reopen_to_read(file: &File) -> io::Result<File> {
    reopen(file, OFlags::RDONLY)
}

/// As [`reopen_to_read`], to read and write it.
pub fn reopen_to_write(file: &File) -> io::Result<File> {
    reopen(file, OFlags::RDWR)
}

/// As [`reopen_to_write`], for a block device that nothing else may claim while it is open.
pub fn reopen_to_claim(file: &File) -> io::Result<File> {
    // With a device and without O_CREAT it means that (`man 2 open`).
    reopen(file, OFlags::RDWR | OFlags::EXCL)
}

fn reopen(file: &File, flags: OFlags) -> io::Result<File> {
    // The kernel follows such a link to the open file itself, not to its name (`man 5 proc`).
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(File::from(openat(CWD, path, flags | OFlags::CLOEXEC, Mode::empty())?))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{lchown, symlink};

    use super::*;

    #[test]
    fn what_was_looked_at_is_replaced_when_its_folder_is_swapped() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("own")).unwrap();
        fs::create_dir(at("victim")).unwrap();
        fs::write(at("own/file"), "ours").unwrap();
        fs::write(at("victim/file"), "kept").unwrap();
        let target = Target::find(&at("own/file")).unwrap();
        assert_eq!(io::read_to_string(target.existing().unwrap().unwrap()).unwrap(), "ours");
        fs::rename(at("own"), at("moved")).unwrap();
        symlink("victim", at("own")).unwrap();
        target.replace(b"new").unwrap();
        assert_eq!(fs::read_to_string(at("victim/file")).unwrap(), "kept");
        assert_eq!(fs::read_to_string(at("moved/file")).unwrap(), "new");
    }

    #[test]
    fn an_existing_file_is_opened_as_it_is_and_a_missing_one_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "content").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("missing", at("dangling")).unwrap();
        let open = |name: &str| Target::find(&at(name)).unwrap().open_or_create();
        assert_eq!(io::read_to_string(open("link").unwrap()).unwrap(), "content");
        assert_eq!(open("dangling").unwrap().metadata().unwrap().len(), 0);
        assert!(at("missing").exists());
        let read = File::open(at("file")).unwrap();
        fs::rename(at("file"), at("moved")).unwrap();
        reopen_to_write(&read).unwrap().write_all(b"C").unwrap();
        assert_eq!(fs::read_to_string(at("moved")).unwrap(), "Content");
        Target::find(dir.path()).unwrap().open_or_create().unwrap_err();
        Target::find(&at("none/file")).unwrap_err();
    }

    #[test]
    fn a_file_that_was_looked_up_is_the_one_that_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("file"), "content").unwrap();
        symlink("file", at("link")).unwrap();
        let found = look_up(&at("link")).unwrap();
        fs::rename(at("file"), at("moved")).unwrap();
        fs::write(at("file"), "other").unwrap();
        assert_eq!(io::read_to_string(reopen_to_read(&found).unwrap()).unwrap(), "content");
        assert_eq!(
            io::read_to_string(read_regular(&at("link")).unwrap().unwrap()).unwrap(),
            "other"
        );
        let (kind, mode) = (FileType::Fifo, Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), kind, mode, 0).unwrap();
        assert!(read_regular(&at("pipe")).unwrap().is_none(), "its other end is not waited for");
        assert!(read_regular(dir.path()).unwrap().is_none());
        read_regular(&at("none")).unwrap_err();
    }

    #[test]
    fn a_new_file_among_devices_is_refused_before_it_is_made() {
        let target = Target::find(Path::new("/dev/drivelab-test")).unwrap();
        for refused in [target.existing(), target.open_or_create().map(Some)] {
            let error = refused.unwrap_err().to_string();
            assert!(error.contains("among the devices"), "{error}");
        }
        let null = Target::find(Path::new("/dev/null")).unwrap();
        assert!(null.existing().unwrap().is_none(), "a device that is there is written to");
    }

    #[test]
    fn a_file_that_is_open_already_is_written_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "an earlier content").unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        let name = format!("/proc/self/fd/{}", file.as_raw_fd());
        Target::find(Path::new(&name)).unwrap().replace(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_pipe_is_written_to_if_a_program_reads_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        let (kind, mode) = (FileType::Fifo, Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
        let replace = |content: &[u8]| Target::find(&path).unwrap().replace(content);
        let error = replace(b"lost").unwrap_err().to_string();
        assert!(error.contains("no program reads"), "{error}");
        let reads = rustix::fs::open(&path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty());
        let mut reader = File::from(reads.unwrap());
        replace(b"kept").unwrap();
        let mut content = [0; 4];
        io::Read::read_exact(&mut reader, &mut content).unwrap();
        assert_eq!(&content, b"kept");
    }

    #[test]
    fn no_file_is_made_among_the_devices() {
        let path = Path::new("/dev/drivelab-report.html");
        let error = Target::find(path).unwrap().replace(b"x").unwrap_err().to_string();
        assert!(error.contains("among the devices") && !path.exists(), "{error}");
    }

    #[test]
    fn links_and_pipes_of_another_user_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("victim"), "kept").unwrap();
        symlink("victim", at("link")).unwrap();
        let (kind, mode) = (FileType::Fifo, Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), kind, mode, 0).unwrap();
        // Only root can make files of another user.
        if lchown(at("link"), Some(65_534), None).is_err() {
            return;
        }
        lchown(at("pipe"), Some(65_534), None).unwrap();
        Target::find(&at("link")).unwrap_err();
        Target::find(&at("pipe")).unwrap().create().unwrap_err();
        Target::find(&at("pipe")).unwrap().open_or_create().unwrap_err();
        assert_eq!(fs::read(at("victim")).unwrap(), b"kept");
    }
}
