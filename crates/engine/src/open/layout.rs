//! Making a file that there is something to read in.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use drivelab_core::Rng;
use drivelab_core::units::{Bytes, Span};

use crate::file::pattern;
use crate::load::{Control, Phase, Progress};

/// Written at once: large enough for any disk, small enough to stop soon.
const CHUNK: usize = 1 << 20;

/// Why a file could not be laid out. Nothing of it is left.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// The disk, the quota or the file size limit.
    #[error("no space for a file of {size} at {} (it took {written} of it)", .path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: Bytes,
        /// What fitted.
        written: Bytes,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The user stopped it.
    #[error("laying out {} was stopped; the unfinished file is removed", .path.display())]
    Stopped {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot write {}", .path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl LayoutError {
    /// What to type next, where we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Full { .. } => Some("make room, or ask for less with `--size`".into()),
            Self::Stopped { .. } | Self::System { .. } => None,
        }
    }
}

/// A file that is removed unless it was finished.
struct Unfinished<'a> {
    path: &'a Path,
    finished: bool,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // The error that led here is the one to report.
            let _ = fs::remove_file(self.path);
        }
    }
}

/// Makes a file of `size` bytes of our random data, really written and on the disk.
///
/// A sparse file would be quicker and useless: reading its holes never reaches the disk.
///
/// # Errors
/// As [`LayoutError`]; the file is then removed.
pub(super) fn lay_out(
    path: &Path,
    size: Bytes,
    seed: u64,
    control: &Control<'_>,
) -> Result<(), LayoutError> {
    let system = |source| LayoutError::System { path: path.into(), source };
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(system)?;
    let mut unfinished = Unfinished { path, finished: false };
    let free = free_bytes(&file).map_err(system)?;
    if free < size {
        let source = io::Error::from_raw_os_error(libc::ENOSPC);
        let path = path.to_owned();
        return Err(LayoutError::Full { path, size, written: Bytes::ZERO, source });
    }
    write_all(&mut file, path, size, seed, control)?;
    file.sync_all().map_err(|source| full_or_system(path, size, size, source))?;
    unfinished.finished = true;
    Ok(())
}

/// What an ordinary user may still write on the file's file system.
fn free_bytes(file: &File) -> io::Result<Bytes> {
    let system = rustix::fs::fstatvfs(file)?;
    Ok(Bytes::new(system.f_bavail.saturating_mul(system.f_frsize)))
}

fn write_all(
    file: &mut impl Write,
    path: &Path,
    size: Bytes,
    seed: u64,
    control: &Control<'_>,
) -> Result<(), LayoutError> {
    let mut chunk = vec![0; CHUNK];
    pattern::fill(&mut chunk, &mut Rng::for_part(seed, 4));
    let (mut sectors, mut written) = (0, 0);
    while written < size.get() {
        if control.stopped() {
            return Err(LayoutError::Stopped { path: path.into() });
        }
        let left = usize::try_from(size.get() - written).unwrap_or(CHUNK).min(CHUNK);
        pattern::renew(&mut chunk, &mut sectors);
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
        assert!(holds_only_ours(&file, size.get()).unwrap());
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
        assert!(!path.exists());
    }

    /// Takes some bytes, then answers as a full disk does.
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
        let error = write_all(&mut disk, path, Bytes::mib(8), 1, &control).unwrap_err();
        let expected = "no space for a file of 8M at full (it took 2M of it)";
        assert_eq!(error.to_string(), expected);
    }
}
