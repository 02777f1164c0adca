//! Lays out a file, so that there is something to read.
//!
//! It is written as `NAME.unfinished`, locked, and renamed when it is complete: no process ever
//! opens half of it. Of several runs that begin at once, one lays it out and the others wait.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use drivelab_core::Rng;
use drivelab_core::label::SECTOR;
use drivelab_core::units::{Bytes, Span};

use crate::file::pattern;
use crate::guard;
use crate::load::{Control, Phase, Progress};

/// Size of one write: large enough for any disk, small enough to stop soon.
const CHUNK: usize = 1 << 20;
const PAGE: usize = 4096;
/// How often a run that waits for another one's layout checks whether it must stop.
const LOOK_ROUND: Duration = Duration::from_millis(50);
/// Maximum length of a file's name in bytes, on any file system of Linux.
const NAME_MAX: usize = 255;

/// Why a file could not be laid out. No part of it remains.
#[expect(missing_docs, reason = "the messages say what the variants and their fields are")]
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error("no space for a file of {size} at {} ({written} were written)", .path.display())]
    Full {
        path: PathBuf,
        size: Bytes,
        written: Bytes,
        #[source]
        source: io::Error,
    },
    #[error("laying out {} was interrupted; the unfinished file was removed", .path.display())]
    Stopped { path: PathBuf },
    #[error("{} contains data that drivelab did not write and would be overwritten by the layout",
        .path.display())]
    SomebodysData { path: PathBuf },
    #[error("cannot write {}", .path.display())]
    System {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl LayoutError {
    /// What to type next, if known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Full { .. } => Some("free some space, or lower `--size`".into()),
            Self::SomebodysData { .. } => Some("move it away, or name another target".into()),
            Self::Stopped { .. } | Self::System { .. } => None,
        }
    }
}

/// A file that is removed unless it was finished, and locked while it is open.
struct UnfinishedFile {
    file: File,
    path: PathBuf,
    keep: bool,
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if !self.keep {
            // The error that led here is the one to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl UnfinishedFile {
    /// The unfinished file of the target at `target`, once no other process is working on it.
    fn of(target: &Path, control: &Control<'_>) -> Result<Self, LayoutError> {
        let path = name_of(target);
        let system = |source| LayoutError::System { path: target.into(), source };
        loop {
            // Neither waits for the other end of a pipe nor follows a link.
            let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true).create(true).truncate(false);
            let file = options.custom_flags(flags).open(&path).map_err(system)?;
            lock(&file, target, control)?;
            let own = file.metadata().map_err(system)?;
            let there = fs::symlink_metadata(&path);
            if there.is_ok_and(|it| (it.dev(), it.ino()) == (own.dev(), own.ino())) {
                return Ok(Self { file, path, keep: false });
            }
            // The process that had it locked has finished it, or abandoned it.
        }
    }

    /// Empties the remains of a killed process; refuses a file that is not ours.
    fn empty(&mut self) -> Result<(), LayoutError> {
        let system = |source| LayoutError::System { path: self.path.clone(), source };
        let meta = self.file.metadata().map_err(system)?;
        let ours = meta.len() == 0
            || guard::holds_only_ours(&self.file, meta.len(), &|| false).map_err(system)?;
        if !meta.is_file() || !ours {
            self.keep = true;
            return Err(LayoutError::SomebodysData { path: self.path.clone() });
        }
        self.file.set_len(0).map_err(system)
    }

    fn finish(mut self, target: &Path) -> Result<(), LayoutError> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        let system = |source| LayoutError::System { path: target.into(), source };
        match renameat_with(CWD, &self.path, CWD, target, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            // A file system that cannot guarantee it; the name was checked to be free before.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
                fs::rename(&self.path, target).map_err(system)?;
            }
            Err(error) => return Err(system(error.into())),
        }
        self.keep = true;
        // From now on, processes that open it by its name share it.
        let _ = self.file.unlock();
        // A power failure would otherwise lose the file's name.
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

/// Waits until no other process is working on `file`; does not wait on a file system without locks.
fn lock(file: &File, target: &Path, control: &Control<'_>) -> Result<(), LayoutError> {
    while let Err(TryLockError::WouldBlock) = file.try_lock() {
        if control.stopped() {
            return Err(LayoutError::Stopped { path: target.into() });
        }
        std::thread::sleep(LOOK_ROUND);
    }
    Ok(())
}

fn name_of(target: &Path) -> PathBuf {
    const ENDING: &[u8] = b".unfinished";
    let name = target.file_name().unwrap_or_default().as_bytes();
    let kept = &name[..name.len().min(NAME_MAX - ENDING.len())];
    target.with_file_name(OsString::from_vec([kept, ENDING].concat()))
}

/// Creates a file of `size` bytes of our random data, written and synced; returns false if another
/// process created it meanwhile.
///
/// A sparse file would be faster and useless: reading its holes never reaches the disk.
pub(super) fn lay_out(
    path: &Path,
    size: Bytes,
    seed: u64,
    control: &Control<'_>,
) -> Result<bool, LayoutError> {
    let mut unfinished = UnfinishedFile::of(path, control)?;
    unfinished.empty()?;
    if path.symlink_metadata().is_ok() {
        return if path.exists() {
            Ok(false)
        } else {
            let source = io::Error::other("it is a dangling symbolic link");
            Err(LayoutError::System { path: path.into(), source })
        };
    }
    fill(&unfinished.file, path, 0..size.get(), seed, control)?;
    unfinished.finish(path)?;
    Ok(true)
}

/// Writes our random data to `range` of `file`, from the sector in which it begins, and syncs it.
/// The file becomes longer if the range ends beyond it, and never shorter.
pub(super) fn fill(
    mut file: &File,
    path: &Path,
    range: Range<u64>,
    seed: u64,
    control: &Control<'_>,
) -> Result<(), LayoutError> {
    let system = |source| LayoutError::System { path: path.into(), source };
    let size = Bytes::new(range.end);
    let from = range.start / SECTOR as u64 * SECTOR as u64;
    let length = file.metadata().map_err(system)?.len();
    if free_bytes(file).map_err(system)?.get() < range.end.saturating_sub(length.max(from)) {
        let source = io::Error::from_raw_os_error(libc::ENOSPC);
        let path = path.to_owned();
        return Err(LayoutError::Full { path, size, written: Bytes::ZERO, source });
    }
    file.seek(SeekFrom::Start(from)).map_err(system)?;
    write_all(&mut file, path, from..range.end, seed, control)?;
    file.sync_all().map_err(|source| full_or_system(path, size, size, source))?;
    if range.start == 0 && length <= range.end {
        guard::note_laid_out(file, range.end);
    }
    Ok(())
}

/// Space that an ordinary user may still use on the file's file system.
fn free_bytes(file: &File) -> io::Result<Bytes> {
    let system = rustix::fs::fstatvfs(file)?;
    Ok(Bytes::new(system.f_bavail.saturating_mul(system.f_frsize)))
}

fn write_all(
    file: &mut impl Write,
    path: &Path,
    range: Range<u64>,
    seed: u64,
    control: &Control<'_>,
) -> Result<(), LayoutError> {
    let size = Bytes::new(range.end - range.start);
    // A served drive receives a request from memory that begins within a page in parts that begin
    // and end within sectors, and refuses those.
    let mut memory = vec![0; CHUNK + PAGE];
    let begin = memory.as_ptr().align_offset(PAGE);
    let chunk = &mut memory[begin..begin + CHUNK];
    pattern::fill(chunk, &mut Rng::for_part(seed, 4));
    let (mut sectors, mut written) = (0, 0);
    while written < size.get() {
        if control.stopped() {
            return Err(LayoutError::Stopped { path: path.into() });
        }
        let left = usize::try_from(size.get() - written).unwrap_or(CHUNK).min(CHUNK);
        pattern::renew(chunk, &mut sectors);
        file.write_all(&chunk[..left])
            .map_err(|source| full_or_system(path, size, Bytes::new(written), source))?;
        written += left as u64;
        (control.progress)(&Progress {
            phase: Phase::LayOut,
            elapsed: Span::ZERO,
            whole: None,
            ios: 0,
            bytes: written,
            errors: 0,
        });
    }
    Ok(())
}

fn full_or_system(path: &Path, size: Bytes, written: Bytes, source: io::Error) -> LayoutError {
    let path = path.to_owned();
    match source.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => {
            LayoutError::Full { path, size, written, source }
        }
        _ => LayoutError::System { path, source },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::guard::holds_only_ours;
    use crate::testing::Scratch;

    fn lay_out_with(stop: bool, path: &Path, size: Bytes) -> Result<(), LayoutError> {
        let stop = AtomicBool::new(stop);
        lay_out(path, size, 1, &Control { stop: &stop, progress: &|_| {} })
            .map(|made| assert!(made))
    }

    #[test]
    fn a_laid_out_file_is_written_throughout_and_recognised() {
        use std::os::unix::fs::MetadataExt as _;
        let scratch = Scratch::new("layout");
        let path = scratch.path("new");
        let size = Bytes::new((3 << 20) + 4096);
        lay_out_with(false, &path, size).unwrap();
        let meta = fs::metadata(&path).unwrap();
        assert_eq!(meta.len(), size.get());
        assert!(meta.blocks() * 512 >= size.get(), "{} blocks", meta.blocks());
        let file = File::open(&path).unwrap();
        assert!(holds_only_ours(&file, size.get(), &|| false).unwrap());
    }

    #[test]
    fn an_unfinished_file_does_not_stay() {
        let scratch = Scratch::new("layout");
        let path = scratch.path("stopped");
        let stopped = lay_out_with(true, &path, Bytes::mib(8)).unwrap_err();
        assert!(matches!(stopped, LayoutError::Stopped { .. }));
        assert!(!path.exists());
        let huge = lay_out_with(false, &path, Bytes::new(1 << 60)).unwrap_err();
        assert!(matches!(huge, LayoutError::Full { .. }), "{huge}");
        assert!(!path.exists() && !name_of(&path).exists());
    }

    #[test]
    fn a_name_that_leads_nowhere_is_refused() {
        let scratch = Scratch::new("layout");
        let path = scratch.path("link");
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        let error = lay_out_with(false, &path, Bytes::mib(1)).unwrap_err();
        assert!(matches!(error, LayoutError::System { .. }), "{error}");
        assert!(!name_of(&path).exists() && !scratch.path("nowhere").exists());
    }

    #[test]
    fn the_unfinished_file_has_a_name_of_its_own_and_a_short_one() {
        let check =
            |target: &str, name: &str| assert_eq!(name_of(Path::new(target)), Path::new(name));
        check("data", "data.unfinished");
        check("/mnt/data.img", "/mnt/data.img.unfinished");
        let long = "n".repeat(255);
        check(&long, &format!("{}.unfinished", "n".repeat(244)));
    }

    /// Accepts some bytes, then answers like a full disk.
    struct Filling(usize);

    impl Write for Filling {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::Error::from_raw_os_error(libc::ENOSPC));
            }
            let taken = data.len().min(self.0);
            self.0 -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_disk_that_fills_up_midway_is_said_to_be_full() {
        let stop = AtomicBool::new(false);
        let control = Control { stop: &stop, progress: &|_| {} };
        let path = Path::new("full");
        let mut disk = Filling(5 << 19);
        let error = write_all(&mut disk, path, 0..8 << 20, 1, &control).unwrap_err();
        let expected = "no space for a file of 8M at full (2M were written)";
        assert_eq!(error.to_string(), expected);
    }
}
