//! Opens a target for writing, after the guard has permitted it.

use std::fs::{File, FileType, Metadata};
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use drivelab_core::Control;
use drivelab_core::units::Bytes;
use drivelab_core::usage::{Census, Usage};

use super::{OpenError, layout};
use crate::guard::{self, GuardError, LockHolder, WritableTarget};

/// Opens a file, or a block device whose name is among `allow_destructive`, for reading and
/// writing.
///
/// A device stays ours while it is open; processes that keep account of a file's contents are
/// excluded from a file. Whether the contents of a file may be destroyed is the caller's decision.
///
/// # Errors
/// It cannot be opened, a process uses it, or its name was not repeated.
pub fn open_for_writing(
    path: &Path,
    allow_destructive: &[PathBuf],
    census: &dyn Census,
) -> Result<File, OpenError> {
    Ok(shared(path, allow_destructive, census)?.file)
}

/// As [`open_for_writing`]; with the facts on which the target was judged.
pub(super) fn shared(
    path: &Path,
    allow_destructive: &[PathBuf],
    census: &dyn Census,
) -> Result<WritableTarget, OpenError> {
    let target = open_target(path, allow_destructive, census)?;
    lock(path, &target.file, guard::share, census)?;
    Ok(target)
}

/// Refuses an open file that [`open_for_writing`] would refuse, except for its other writers: the
/// next process to open it checks those.
///
/// # Errors
/// It is a device or a stream, or the machine uses it: as swap, or as a disk.
pub fn may_be_written(path: &Path, file: &File, census: &dyn Census) -> Result<(), OpenError> {
    let meta = file.metadata().map_err(OpenError::system("stat", path))?;
    has_blocks(path, meta.file_type())?;
    if meta.file_type().is_block_device() {
        return Ok(guard::claim(path, file, &[], census).map(drop)?);
    }
    of_regular_file(path, &meta, census).map(drop)
}

/// The users of everything else, if a regular file has none.
fn of_regular_file(path: &Path, meta: &Metadata, census: &dyn Census) -> Result<Usage, OpenError> {
    let (by, usage) = guard::of_file(meta, census)
        .map_err(|source| GuardError::Unknown { path: path.into(), source })?;
    let Some(by) = by else { return Ok(usage) };
    let device = path.display().to_string();
    Err(GuardError::InUse { path: path.into(), device, by }.into())
}

fn open_target(
    path: &Path,
    allow_destructive: &[PathBuf],
    census: &dyn Census,
) -> Result<WritableTarget, OpenError> {
    let system = |operation| OpenError::system(operation, path);
    // A device that must not be written is not even opened for writing.
    let file = open_to_read(path)?;
    let meta = file.metadata().map_err(system("stat"))?;
    if meta.file_type().is_block_device() {
        return Ok(guard::claim(path, &file, allow_destructive, census)?);
    }
    let usage = of_regular_file(path, &meta, census)?;
    // The file that was judged, and no other that has its name by now.
    let file = drivelab_files::reopen_to_write(&file).map_err(system("open"))?;
    Ok(WritableTarget { file, usage })
}

/// Opens a file or block device to read it, and nothing else. The name is looked up once.
pub(super) fn open_to_read(path: &Path) -> Result<File, OpenError> {
    let found = drivelab_files::look_up(path).map_err(OpenError::system("open", path))?;
    let about = found.metadata().map_err(OpenError::system("stat", path))?;
    has_blocks(path, about.file_type())?;
    drivelab_files::reopen_to_read(&found).map_err(OpenError::system("open", path))
}

/// Excludes every other writer from a `file` that was opened for writing, while it is open.
pub(super) fn alone(path: &Path, file: &File, census: &dyn Census) -> Result<(), OpenError> {
    lock(path, file, guard::alone, census)
}

type Lock = fn(&File, &dyn Census) -> Result<(), LockHolder>;

/// Takes the `lock` of a regular file; a device was claimed when it was opened.
fn lock(path: &Path, file: &File, lock: Lock, census: &dyn Census) -> Result<(), OpenError> {
    let regular = file.metadata().is_ok_and(|meta| meta.is_file());
    let taken = if regular { lock(file, census) } else { Ok(()) };
    Ok(taken.map_err(|LockHolder(by)| GuardError::Locked { path: path.into(), by })?)
}

pub(super) fn has_blocks(path: &Path, kind: FileType) -> Result<(), OpenError> {
    let kind = if kind.is_file() || kind.is_block_device() {
        return Ok(());
    } else if kind.is_dir() {
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

pub(super) fn length(mut file: &File) -> io::Result<Bytes> {
    // `stat` reports a size of 0 for a block device.
    file.seek(SeekFrom::End(0)).map(Bytes::new)
}

/// A target for pages with an account.
#[derive(Debug, Clone, Copy)]
pub struct Room<'a> {
    /// A file, which is created if it is missing, or a block device.
    pub path: &'a Path,
    /// Number of bytes from its beginning to be written; at most the size of a device.
    pub size: Bytes,
    /// A device must have space for all of them.
    pub exactly: bool,
    /// A file's data may be destroyed, even foreign data.
    pub allow_overwrite: bool,
    /// Block devices that may be written, by the names the user repeated.
    pub allow_destructive: &'a [PathBuf],
    /// Seed of the data that fills a file.
    pub seed: u64,
    /// Reports the users of the target.
    pub census: &'a dyn Census,
}

/// Opens the target for a single writer, with every block of it written; returns how many bytes may
/// be written from its beginning. A file becomes as long as necessary and never shorter, and data
/// after those bytes is left unchanged.
///
/// # Errors
/// It cannot be opened, a process uses it, it contains foreign data, or there is not enough space.
pub fn make_room(room: Room<'_>, control: &Control<'_>) -> Result<(File, Bytes), OpenError> {
    let Room { path, size, seed, .. } = room;
    let missing = std::fs::metadata(path).is_err_and(|it| it.kind() == io::ErrorKind::NotFound);
    let mut made = None;
    if missing {
        made = layout::lay_out(path, size, seed, &|_| Ok(()), control)?;
    }
    let file = open_for_writing(path, room.allow_destructive, room.census)?;
    alone(path, &file, room.census)?;
    let system = |operation| OpenError::system(operation, path);
    let held = length(&file).map_err(system("find the size of"))?;
    if !file.metadata().map_err(system("stat"))?.is_file() {
        if room.exactly && size > held {
            return Err(OpenError::TooSmall { path: path.into(), size, held });
        }
        return Ok((file, size.min(held)));
    }
    let ours = held.get() == 0
        || guard::holds_only_ours(&file, held.get(), &|| control.stopped())
            .map_err(system("read"))?;
    if !ours && !room.allow_overwrite {
        return Err(GuardError::SomebodysData { path: path.into() }.into());
    }
    // Our own data has already been written; foreign data is overwritten where pages will be.
    let from = if ours { held.get().min(size.get()) } else { 0 };
    if from < size.get() {
        layout::fill(&file, path, from..size.get(), seed, control)?;
    }
    if let Some(made) = &mut made {
        made.keep();
    }
    Ok((file, size))
}
