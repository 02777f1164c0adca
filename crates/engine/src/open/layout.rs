//! Lays out a file, so that there is something to read.
//!
//! It is written as `NAME.unfinished`, locked, and renamed when it is complete: no process ever
//! opens half of it. Of several runs that begin at once, one lays it out and the others wait.

use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use drivelab_core::Rng;
use drivelab_core::control::{Control, Event, Phase, Progress};
use drivelab_core::label::SECTOR;
use drivelab_core::units::{Bytes, Span};
use drivelab_files::{Folder, Identity};

use rustix::fs::{Mode, OFlags};

use super::error::OpenError;
use super::unmade::LayoutError;
use crate::file::pattern;
use crate::guard;

/// Size of one write: large enough for any disk, small enough to stop soon.
const CHUNK: usize = 1 << 20;
const PAGE: usize = 4096;
/// Time between two checks of a run that waits for another one's layout, for a stop.
const LOOK_ROUND: Duration = Duration::from_millis(50);
/// Maximum length of a file's name in bytes, on any file system of Linux.
const NAME_MAX: usize = 255;

/// A file that is removed unless it was finished, and locked while it is open.
struct UnfinishedFile {
    file: File,
    folder: Folder,
    name: OsString,
    keep: bool,
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if !self.keep
            && let Ok(own) = Identity::of(&self.file)
        {
            // The error that led here is the one to report.
            let _ = self.folder.remove_file_if(&self.name, own);
        }
    }
}

impl UnfinishedFile {
    /// The unfinished file of the target `name` in `folder`, once no other process works on it.
    fn of(folder: Folder, name: &OsStr, control: &Control<'_>) -> Result<Self, LayoutError> {
        let target = folder.path().join(name);
        let system = |source| LayoutError::System { path: target.clone(), source };
        let name = name_of(name);
        loop {
            let file = folder.create_or_open(&name).map_err(system)?;
            lock(&file, &target, control)?;
            let own = Identity::of(&file).map_err(system)?;
            if folder.identity_of(&name).is_ok_and(|there| there == own) {
                return Ok(Self { file, folder, name, keep: false });
            }
            // The process that had it locked has finished it, or abandoned it.
        }
    }

    /// Empties the remains of a killed process; refuses a file that is not ours, or that has
    /// another name too.
    fn empty(&mut self) -> Result<(), LayoutError> {
        let path = self.folder.path().join(&self.name);
        let system = |source| LayoutError::System { path: path.clone(), source };
        let meta = self.file.metadata().map_err(system)?;
        let ours = meta.len() == 0
            || guard::holds_only_ours(&self.file, meta.len(), &|| false).map_err(system)?;
        if !meta.is_file() || meta.nlink() > 1 || !ours {
            // It is another program's file, which `Drop` must not remove.
            self.keep = true;
            return Err(LayoutError::SomebodysData { path });
        }
        self.file.set_len(0).map_err(system)
    }

    fn finish(mut self, target: &OsStr) -> Result<LaidOut, LayoutError> {
        let path = self.folder.path().join(target);
        let system = |source| LayoutError::System { path: path.clone(), source };
        let folder = self.folder.try_clone().map_err(system)?;
        let identity = Identity::of(&self.file).map_err(system)?;
        folder.rename_new(&self.name, target).map_err(system)?;
        self.keep = true;
        // From now on, processes that open it by its name share it.
        let _ = self.file.unlock();
        // A power failure would otherwise lose the file's name.
        let _ = folder.sync();
        Ok(LaidOut { folder, name: target.to_owned(), identity, keep: false })
    }
}

/// A file that was laid out for a run. It is removed with this value unless the run is made.
#[derive(Debug)]
#[must_use = "the file is removed with it"]
pub struct LaidOut {
    folder: Folder,
    name: OsString,
    identity: Identity,
    keep: bool,
}

impl LaidOut {
    /// Returns true if `file` is this one.
    pub(super) fn is(&self, file: &File) -> bool {
        Identity::of(file).is_ok_and(|it| it == self.identity)
    }

    /// Keeps it: the run is made.
    pub fn keep(&mut self) {
        self.keep = true;
    }
}

impl Drop for LaidOut {
    fn drop(&mut self) {
        if !self.keep {
            // The error that led here is the one to report.
            let _ = self.folder.remove_file_if(&self.name, self.identity);
        }
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

fn name_of(target: &OsStr) -> OsString {
    const ENDING: &[u8] = b".unfinished";
    let name = target.as_bytes();
    let kept = &name[..name.len().min(NAME_MAX - ENDING.len())];
    OsString::from_vec([kept, ENDING].concat())
}

/// Creates a file of `size` bytes of our random data, written and synced; returns nothing if
/// another process created it meanwhile. Before anything is written, `check` has the empty file.
///
/// A sparse file would be faster and useless: reading its holes never reaches the disk.
pub(super) fn lay_out(
    path: &Path,
    size: Bytes,
    seed: u64,
    check: &dyn Fn(&File) -> Result<(), OpenError>,
    control: &Control<'_>,
) -> Result<Option<LaidOut>, OpenError> {
    let system = |source| LayoutError::System { path: path.into(), source };
    let (folder, name) = Folder::holding(path).map_err(system)?;
    refuse_devices(&folder, path)?;
    let mut unfinished = UnfinishedFile::of(folder, &name, control)?;
    unfinished.empty()?;
    // Only under the lock: another process may have finished the file until then.
    if path.symlink_metadata().is_ok() {
        return if path.exists() {
            Ok(None)
        } else {
            Err(system(io::Error::other("it is a dangling symbolic link")).into())
        };
    }
    check(&unfinished.file)?;
    fill(&unfinished.file, path, 0..size.get(), seed, control)?;
    Ok(Some(unfinished.finish(&name)?))
}

/// Refuses a folder among the devices.
fn refuse_devices(folder: &Folder, path: &Path) -> Result<(), OpenError> {
    if folder.is_of_devices() {
        return Err(OpenError::AmongDevices { path: path.into() });
    }
    Ok(())
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
    // Before the first write: running out of space would take it from every other program.
    if free_bytes(file).map_err(system)?.get() < range.end.saturating_sub(length.max(from)) {
        let source = io::Error::from_raw_os_error(libc::ENOSPC);
        let path = path.to_owned();
        return Err(LayoutError::Full { path, size, written: Bytes::ZERO, source });
    }
    file.seek(SeekFrom::Start(from)).map_err(system)?;
    write_all(&mut file, path, from..range.end, seed, control)?;
    file.sync_all().map_err(|source| full_or_system(path, size, size, source))?;
    // A longer file also holds data that was not written here.
    if range.start == 0 && length <= range.end {
        guard::note_laid_out(file, range.end);
    }
    Ok(())
}

/// Space that an ordinary user may still use on the file system of `path`.
///
/// # Errors
/// There is nothing of that name, or its file system does not answer.
pub fn free_space(path: &Path) -> io::Result<Bytes> {
    free_bytes(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

fn free_bytes(file: impl AsFd) -> io::Result<Bytes> {
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
        control.report(Event::Load(Progress {
            phase: Phase::LayOut,
            elapsed: Span::ZERO,
            whole: None,
            ios: 0,
            bytes: written,
            errors: 0,
        }));
    }
    Ok(())
}

fn full_or_system(path: &Path, size: Bytes, written: Bytes, source: io::Error) -> LayoutError {
    let path = path.to_owned();
    match source.raw_os_error() {
        // A quota (EDQUOT) and the longest possible file (EFBIG) end it as a full disk does.
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => {
            LayoutError::Full { path, size, written, source }
        }
        _ => LayoutError::System { path, source },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::guard::holds_only_ours;
    use crate::testing::Scratch;

    fn lay_out_with(stop: bool, path: &Path, size: Bytes) -> Result<(), LayoutError> {
        let stop = AtomicBool::new(stop);
        let control = Control::silent(&stop);
        match lay_out(path, size, 1, &|_| Ok(()), &control) {
            Ok(made) => {
                made.expect("nothing was there").keep();
                Ok(())
            }
            Err(OpenError::Layout(error)) => Err(error),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn what_was_laid_out_for_a_refused_run_is_removed_and_what_took_its_name_is_not() {
        let scratch = Scratch::new("layout");
        let stop = AtomicBool::new(false);
        let control = Control::silent(&stop);
        let lay_out = |path: &Path| lay_out(path, Bytes::mib(1), 1, &|_| Ok(()), &control).unwrap();
        let path = scratch.path("refused");
        drop(lay_out(&path));
        assert!(!path.exists());
        let made = lay_out(&path);
        fs::rename(&path, scratch.path("moved")).unwrap();
        fs::write(&path, "of others").unwrap();
        drop(made);
        assert_eq!(fs::read(&path).unwrap(), b"of others");
        assert!(scratch.path("moved").exists());
    }

    #[test]
    fn nothing_is_laid_out_among_the_devices() {
        let stop = AtomicBool::new(false);
        let control = Control::silent(&stop);
        let path = Path::new("/dev/drivelab-no-such-disk");
        let refused = lay_out(path, Bytes::mib(1), 1, &|_| Ok(()), &control).unwrap_err();
        assert!(matches!(refused, OpenError::AmongDevices { .. }), "{refused}");
        assert!(!path.exists() && !path.with_extension("unfinished").exists());
    }

    #[test]
    fn a_file_with_another_name_is_not_filled() {
        let scratch = Scratch::new("layout");
        let (victim, path) = (scratch.file("empty", b""), scratch.path("data"));
        fs::hard_link(&victim, scratch.path("data.unfinished")).unwrap();
        let refused = lay_out_with(false, &path, Bytes::mib(1)).unwrap_err();
        assert!(matches!(refused, LayoutError::SomebodysData { .. }), "{refused}");
        assert_eq!(fs::metadata(victim).unwrap().len(), 0);
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
        assert!(!path.exists() && !scratch.path("stopped.unfinished").exists());
    }

    #[test]
    fn a_name_that_leads_nowhere_is_refused() {
        let scratch = Scratch::new("layout");
        let path = scratch.path("link");
        std::os::unix::fs::symlink("nowhere", &path).unwrap();
        let error = lay_out_with(false, &path, Bytes::mib(1)).unwrap_err();
        assert!(matches!(error, LayoutError::System { .. }), "{error}");
        assert!(!scratch.path("link.unfinished").exists() && !scratch.path("nowhere").exists());
    }

    #[test]
    fn the_unfinished_file_has_a_name_of_its_own_and_a_short_one() {
        let check =
            |target: &str, name: &str| assert_eq!(name_of(OsStr::new(target)), OsStr::new(name));
        check("data", "data.unfinished");
        check("data.img", "data.img.unfinished");
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
        let control = Control::silent(&stop);
        let path = Path::new("full");
        let mut disk = Filling(5 << 19);
        let error = write_all(&mut disk, path, 0..8 << 20, 1, &control).unwrap_err();
        let expected = "no space for a file of 8M at full (2M were written)";
        assert_eq!(error.to_string(), expected);
    }
}
