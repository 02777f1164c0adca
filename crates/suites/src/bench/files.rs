//! Files written, read and copied with plain system calls, chunk by chunk.

use std::ffi::CStr;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use drivelab_core::Rng;
use drivelab_files::Folder;
use rustix::fs::{FileType, Mode, OFlags, RawDir};

use super::halt::{At as _, Done};

/// Bytes that no file system compresses, the same for a seed.
#[derive(Debug)]
pub(crate) struct Content(Vec<u8>);

/// Enough that a file system which looks for equal blocks within a file finds few.
const CONTENT_BYTES: usize = 1 << 20;

impl Content {
    pub(crate) fn new(rng: &mut Rng) -> Self {
        Self((0..CONTENT_BYTES / 8).flat_map(|_| rng.bits().to_le_bytes()).collect())
    }

    /// Returns the content of the block of that number.
    pub(crate) fn block(&self, number: u64, length: usize) -> &[u8] {
        debug_assert!(length > 0, "blocks hold something");
        let length = length.min(CONTENT_BYTES);
        // Blocks follow one another in the content, and begin again at its end.
        let from = usize::try_from(number % (CONTENT_BYTES / length) as u64).expect("below 1 MiB");
        let from = from * length;
        debug_assert!(from + length <= CONTENT_BYTES, "a block lies within the content");
        &self.0[from..from + length]
    }
}

/// Opens a file below a folder of the suite: one system call, as by its whole name.
pub(crate) fn open_below(top: &Folder, path: &Path, flags: OFlags) -> Done<File> {
    let mode = Mode::from_raw_mode(0o666);
    let what = if flags.contains(OFlags::CREATE) { "create" } else { "open" };
    let file = rustix::fs::openat(top, path, flags | OFlags::CLOEXEC, mode);
    file.map(File::from).at_path(what, || top.path().join(path))
}

/// Makes a file of `size` bytes in writes of at most `chunk`.
pub(crate) fn write_file(
    top: &Folder,
    path: &Path,
    size: u64,
    chunk: usize,
    content: &Content,
) -> Done<File> {
    let mut file = open_below(top, path, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
    debug_assert!(chunk > 0, "a write moves bytes");
    let chunk = chunk.min(CONTENT_BYTES);
    let (mut left, mut number) = (size, 0);
    while left > 0 {
        let block = content.block(number, chunk);
        let length = usize::try_from(left).map_or(block.len(), |left| left.min(block.len()));
        file.write_all(&block[..length]).at_path("write", || top.path().join(path))?;
        number += 1;
        left -= length as u64;
    }
    Ok(file)
}

/// Reads an open file to its end in reads of `buffer`; how much there was.
pub(crate) fn read_whole(
    file: &mut File,
    buffer: &mut [u8],
    path: impl Fn() -> PathBuf,
) -> Done<u64> {
    debug_assert!(!buffer.is_empty(), "an empty read looks like the end");
    let mut bytes = 0;
    loop {
        match file.read(buffer).at_path("read", &path)? {
            0 => return Ok(bytes),
            length => bytes += length as u64,
        }
    }
}

/// Copies a file from one folder to another in reads and writes of `buffer`; how much there was. A
/// large one takes seconds, so `check` is asked after each of them.
pub(crate) fn copy_file(
    [from, to]: [&Folder; 2],
    path: &Path,
    buffer: &mut [u8],
    check: &dyn Fn() -> Done,
) -> Done<u64> {
    debug_assert!(!buffer.is_empty(), "an empty read looks like the end");
    let mut source = open_below(from, path, OFlags::RDONLY)?;
    let mut target = open_below(to, path, OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC)?;
    let mut bytes = 0;
    loop {
        let length = source.read(buffer).at_path("read", || from.path().join(path))?;
        if length == 0 {
            return Ok(bytes);
        }
        target.write_all(&buffer[..length]).at_path("write", || to.path().join(path))?;
        bytes += length as u64;
        check()?;
    }
}

/// Opens a folder below one of the suite, for names relative to it; the empty path is that itself.
pub(crate) fn open_folder(top: &Folder, path: &Path) -> Done<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    // A descriptor of the folder itself would share its position with other readers of the names.
    let name = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let folder = rustix::fs::openat(top, name, flags, Mode::empty());
    folder.at_path("open", || top.path().join(path))
}

/// Makes a folder below one of the suite.
pub(crate) fn make_below(top: &Folder, path: &Path) -> Done {
    let made = rustix::fs::mkdirat(top, path, Mode::from_raw_mode(0o777));
    made.at_path("create", || top.path().join(path))
}

/// Bytes of names that are read from a folder at once, as glibc's `readdir` does.
const READDIR_BYTES: usize = 32 << 10;

/// The names in a folder, each with what it is, in the order of the file system.
pub(crate) fn each_name(
    folder: impl AsFd,
    path: impl Fn() -> PathBuf,
    mut work: impl FnMut(&CStr, FileType) -> Done,
) -> Done {
    let mut buffer = Vec::with_capacity(READDIR_BYTES);
    let mut entries = RawDir::new(&folder, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry.at_path("read", &path)?;
        // Names of ours do not begin with a dot.
        let name = entry.file_name();
        if name.to_bytes().first() != Some(&b'.') {
            work(name, entry.file_type())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_copied() {
        let dir = tempfile::tempdir().unwrap();
        let content = Content::new(&mut Rng::new(1));
        let top = Folder::open(dir.path()).unwrap();
        let (one, two) = (top.make_folder("one").unwrap(), top.make_folder("two").unwrap());
        let file = Path::new("file");
        for size in [0, 1, 100_000, 3 << 20] {
            drop(write_file(&one, file, size, 32 << 10, &content).unwrap());
            let mut buffer = vec![0; 32 << 10];
            assert_eq!(copy_file([&one, &two], file, &mut buffer, &|| Ok(())).unwrap(), size);
            let mut copied = open_below(&two, file, OFlags::RDONLY).unwrap();
            assert_eq!(read_whole(&mut copied, &mut buffer, PathBuf::new).unwrap(), size);
            let held = |folder: &Folder| std::fs::read(folder.path().join(file)).unwrap();
            assert_eq!(held(&one), held(&two));
            one.remove_file(file).unwrap();
        }
    }
}
