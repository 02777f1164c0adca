//! Opening what is to be measured, or refusing it with a reason.

mod alignment;
mod error;
mod file_system;
mod holes;
mod layout;
mod polling;
mod trimming;
mod writing;

pub use error::OpenError;
pub(crate) use file_system::FileSystem;
pub use layout::LayoutError;
pub use writing::{Room, make_room, may_be_opened_for_writing, open_for_writing};

use std::fs::{File, FileType};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use drivelab_core::JobSchedule;
use drivelab_core::units::Bytes;
use drivelab_core::usage::{Census, DeviceNumber};
use drivelab_core::workload::Workload;
use rustix::fs::{Advice, OFlags};

use crate::file::Trim;
use crate::guard::{self, Disk, GuardError};
use crate::load::Control;

/// What is to be opened, and for what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) path: &'a Path,
    pub(crate) workload: &'a Workload,
    /// Size of the file to make where there is none.
    pub(crate) size: Option<Bytes>,
    pub(crate) direct: bool,
    pub(crate) conduct: JobSchedule,
    /// Completions are to be looked for.
    pub(crate) polled: bool,
    pub(crate) allow_overwrite: bool,
    pub(crate) writers: Writers,
    /// Block devices that may be written, by the names the user repeated.
    pub(crate) allow_destructive: &'a [PathBuf],
    pub(crate) seed: u64,
    pub(crate) census: &'a dyn Census,
}

/// Who may write a file while it is open for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writers {
    /// All who keep no account of what they write.
    Several,
    /// Only whoever opens it: account is kept of what is written.
    One,
}

/// An open target and what is known about it.
#[derive(Debug)]
pub(crate) struct OpenTarget {
    pub(crate) file: Arc<File>,
    pub(crate) capacity: Bytes,
    pub(crate) memory_align: usize,
    pub(crate) file_system: FileSystem,
    /// Bytes that were never written, so that reading them reaches no disk.
    pub(crate) holes: Bytes,
    /// Made by this run.
    pub(crate) laid_out: bool,
    /// How it is trimmed.
    pub(crate) trim: Trim,
    /// What the device really is, where it is no disk of its own.
    pub(crate) stand_in: Option<String>,
    /// The disk that it is or lies on.
    pub(crate) disk: Option<Disk>,
}

impl OpenTarget {
    /// The number of the disk that it is or lies on.
    pub(crate) fn number(&self) -> Option<DeviceNumber> {
        Some(self.disk.as_ref()?.number)
    }
}

/// Opens the target, laying it out first where it does not exist and a size is given.
///
/// # Errors
/// It cannot be measured so, or must not be written: see [`OpenError`].
pub(crate) fn open(ask: Ask<'_>, control: &Control<'_>) -> Result<OpenTarget, OpenError> {
    let laid_out = lay_out_if_missing(ask, control)?;
    let file = open_checked(ask)?;
    let system =
        |operation| move |source| OpenError::System { operation, path: ask.path.into(), source };
    let meta = file.metadata().map_err(system("stat"))?;
    let device = meta.file_type().is_block_device();
    let capacity = length(&file).map_err(system("find the size of"))?;
    if capacity.get() == 0 {
        return Err(OpenError::Empty { path: ask.path.into() });
    }
    if ask.workload.rw.writes() && !laid_out && !device {
        guard_contents(ask, &file, capacity, control)?;
    }
    if ask.workload.rw.trims() && device {
        trimming::check(ask.path, &file)?;
    }
    let file_system =
        if device { FileSystem::NONE } else { FileSystem::of(&file).map_err(system("stat"))? };
    // A read that is measured should not make the file system write down when it was. Only whoever
    // owns the file may ask for that, and without it the run is as good.
    let _ = add_flag(&file, OFlags::NOATIME);
    let memory_align = if ask.direct {
        set_direct(ask, &file, file_system)?
    } else {
        if !ask.conduct.keep_cache {
            // As fio does: begin without what the page cache holds of it. It is advice only.
            let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
        }
        1
    };
    let disk = guard::disk_under(ask.path, &file, ask.census);
    let is_polled = disk.as_ref().and_then(|disk| disk.polled);
    if ask.polled
        && let Some((why, instead)) = polling::refusal(ask.workload, ask.direct, is_polled)
    {
        return Err(OpenError::NoPolling { path: ask.path.into(), why, instead });
    }
    let holes = if device { Bytes::ZERO } else { holes_in(ask, &file, capacity) };
    Ok(OpenTarget {
        file: Arc::new(file),
        capacity,
        memory_align,
        file_system,
        holes,
        laid_out,
        trim: if device { Trim::Discard } else { Trim::Punch },
        stand_in: disk.as_ref().and_then(|disk| disk.stand_in.clone()),
        disk,
    })
}

/// What of the region was never written.
fn holes_in(ask: Ask<'_>, file: &File, capacity: Bytes) -> Bytes {
    let (from, end) = (ask.workload.offset.get(), capacity.get());
    let to = ask.workload.size.map_or(end, |size| from.saturating_add(size.get()).min(end));
    holes::within(file, from, to)
}

/// What a run that reaches nothing has: only a size.
pub(crate) fn nothing(size: Option<Bytes>) -> io::Result<OpenTarget> {
    Ok(OpenTarget {
        file: Arc::new(File::open("/dev/null")?),
        // Of no consequence, and larger than any drive.
        capacity: size.unwrap_or(Bytes::gib(1 << 20)),
        memory_align: 1,
        file_system: FileSystem::NONE,
        holes: Bytes::ZERO,
        laid_out: false,
        trim: Trim::Punch,
        stand_in: Some("the null target, which answers at once".into()),
        disk: None,
    })
}

/// Makes the file where there is none, and refuses what has no blocks before it is opened: opening
/// a pipe waits, and opening a tape rewinds it.
fn lay_out_if_missing(ask: Ask<'_>, control: &Control<'_>) -> Result<bool, OpenError> {
    let path = ask.path.to_owned();
    let kind = match std::fs::metadata(ask.path) {
        Ok(meta) => meta.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let Some(size) = ask.size else { return Err(OpenError::Missing { path }) };
            if size.get() == 0 {
                return Err(OpenError::Empty { path });
            }
            return Ok(layout::lay_out(ask.path, size, ask.seed, control)?);
        }
        Err(source) => return Err(OpenError::System { operation: "stat", path, source }),
    };
    has_blocks(ask.path, kind)?;
    Ok(false)
}

/// Makes a file of `size` bytes at `path` where there is nothing: really written, with random data.
///
/// # Errors
/// There is no room for it, or it cannot be written.
pub fn lay_out(
    path: &Path,
    size: Bytes,
    seed: u64,
    control: &Control<'_>,
) -> Result<(), OpenError> {
    if path.exists() {
        return Ok(());
    }
    if size.get() == 0 {
        return Err(OpenError::Empty { path: path.into() });
    }
    layout::lay_out(path, size, seed, control)?;
    Ok(())
}

/// Refuses what is neither a file nor a block device.
fn has_blocks(path: &Path, kind: FileType) -> Result<(), OpenError> {
    if kind.is_file() || kind.is_block_device() {
        return Ok(());
    }
    let kind = if kind.is_dir() {
        "directory"
    } else if kind.is_char_device() {
        "character device"
    } else if kind.is_fifo() {
        "pipe"
    } else {
        "socket"
    };
    Err(OpenError::NoBlocks { path: path.into(), kind })
}

/// Opens it; for writing only what may be written.
fn open_checked(ask: Ask<'_>) -> Result<File, OpenError> {
    if ask.workload.rw.writes() {
        let file = open_for_writing(ask.path, ask.allow_destructive, ask.census)?;
        if ask.writers == Writers::One {
            writing::alone(ask.path, &file, ask.census)?;
        }
        return Ok(file);
    }
    let (operation, path) = ("open", ask.path.to_owned());
    File::open(ask.path).map_err(|source| OpenError::System { operation, path, source })
}

fn add_flag(file: &File, flag: OFlags) -> rustix::io::Result<()> {
    rustix::fs::fcntl_setfl(file, rustix::fs::fcntl_getfl(file)? | flag)
}

/// The length of a file or of a block device.
fn length(mut file: &File) -> io::Result<Bytes> {
    let length = file.seek(SeekFrom::End(0))?;
    Ok(Bytes::new(length))
}

fn guard_contents(
    ask: Ask<'_>,
    file: &File,
    capacity: Bytes,
    control: &Control<'_>,
) -> Result<(), OpenError> {
    let path = ask.path.to_owned();
    if ask.allow_overwrite {
        return Ok(());
    }
    match guard::holds_only_ours(file, capacity.get(), &|| control.stopped()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(GuardError::SomebodysData { path }.into()),
        Err(source) => Err(OpenError::System { operation: "read", path, source }),
    }
}

/// Switches to direct I/O; gives the alignment that buffers need.
fn set_direct(ask: Ask<'_>, file: &File, on: FileSystem) -> Result<usize, OpenError> {
    let path = ask.path.to_owned();
    if on.in_memory {
        // Since Linux 6.6 tmpfs takes O_DIRECT and ignores it.
        return Err(OpenError::InMemory { path, file_system: on.name });
    }
    let refused = || OpenError::NoDirect { path: path.clone(), file_system: on.name };
    match add_flag(file, OFlags::DIRECT) {
        Ok(()) => {}
        Err(rustix::io::Errno::INVAL) => return Err(refused()),
        Err(error) => {
            let (operation, source) = ("set O_DIRECT on", error.into());
            return Err(OpenError::System { operation, path, source });
        }
    }
    let align = alignment::of(file);
    let align = align.map_err(|source| OpenError::System {
        operation: "read",
        path: path.clone(),
        source,
    })?;
    if align.offset == 0 {
        return Err(refused());
    }
    alignment::check(ask.workload, align.offset, ask.path)?;
    Ok(align.memory)
}

#[cfg(test)]
mod tests {
    use std::io::IoSliceMut;
    use std::os::unix::fs::FileExt as _;
    use std::sync::atomic::AtomicBool;

    use drivelab_core::workload::WorkloadOptions;
    use rustix::io::ReadWriteFlags;

    use super::*;
    use crate::quiet::Quiet;
    use crate::testing::Scratch;

    const BLOCKS: u64 = 256;

    /// How many blocks of a file that was just read the page cache has once it is open; `None`
    /// where this file system does not tell.
    fn cached(keep_cache: bool) -> Option<u64> {
        let scratch = Scratch::new("open");
        let path = scratch.file("data", &vec![1; 4096 * 256]);
        let file = File::open(&path).unwrap();
        file.sync_all().unwrap();
        file.read_exact_at(&mut vec![0; 4096 * 256], 0).unwrap();
        let stop = AtomicBool::new(false);
        let ask = Ask {
            path: &path,
            workload: &WorkloadOptions::default().check().unwrap(),
            size: None,
            direct: false,
            conduct: JobSchedule { keep_cache, ..JobSchedule::default() },
            polled: false,
            allow_overwrite: false,
            writers: Writers::Several,
            allow_destructive: &[],
            seed: 1,
            census: &Quiet(Vec::new()),
        };
        let opened = open(ask, &Control { stop: &stop, progress: &|_| () }).unwrap();
        let mut found = 0;
        for block in 0..BLOCKS {
            let mut data = [0; 4096];
            // What would have to be fetched is not waited for.
            let (into, flags) = (&mut [IoSliceMut::new(&mut data)], ReadWriteFlags::NOWAIT);
            match rustix::io::preadv2(&opened.file, into, block * 4096, flags) {
                Ok(_) => found += 1,
                Err(rustix::io::Errno::AGAIN) => {}
                Err(_) => return None,
            }
        }
        Some(found)
    }

    #[test]
    fn a_buffered_run_begins_with_a_cold_cache_unless_it_is_to_keep_it() {
        let (Some(dropped), Some(kept)) = (cached(false), cached(true)) else { return };
        // A page that the kernel is busy with meanwhile counts as not there, and one that somebody
        // else looks at stays.
        assert!(kept > BLOCKS / 2, "{kept} of {BLOCKS}");
        assert!(dropped < BLOCKS / 2, "{dropped} of {BLOCKS}");
    }
}
