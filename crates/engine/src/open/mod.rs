//! Opens the target of a measurement, or refuses it with a reason.

mod abilities;
mod alignment;
mod error;
mod file_system;
mod holes;
mod identity;
mod layout;
mod unmade;
mod writing;

pub use error::OpenError;
use file_system::file_system_of;
pub use layout::{LaidOut, free_space};
pub use unmade::LayoutError;
pub use writing::{Room, make_room, may_be_written, open_for_writing};

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::sync::Arc;

use drivelab_core::Control;
use drivelab_core::units::Bytes;
use drivelab_core::usage::{Census, DeviceNumber, Usage};
use drivelab_core::workload::Workload;
use drivelab_load::marks::FileSystem;
use rustix::fs::{Advice, OFlags};

use self::identity::Identity;
use self::writing::{has_blocks, length};
use crate::file::Trim;
use crate::guard::{self, Disk, GuardError, WritableTarget};
use crate::plan::RunPlan;

#[derive(Debug)]
pub(crate) struct OpenTarget {
    pub(crate) file: Arc<File>,
    pub(crate) capacity: Bytes,
    pub(crate) memory_align: usize,
    pub(crate) file_system: FileSystem,
    /// Bytes that were never written, so that reading them reaches no disk.
    pub(crate) holes: Bytes,
    /// Set where it was made for this run.
    pub(crate) laid_out: Option<LaidOut>,
    pub(crate) trim: Trim,
    pub(crate) stand_in: Option<String>,
    pub(crate) disk: Option<Disk>,
    /// Absent for the null target.
    pub(crate) identity: Option<Identity>,
}

impl OpenTarget {
    /// Keeps a file that was laid out for the run, which is made.
    pub(crate) fn keep_file(&mut self) {
        if let Some(made) = &mut self.laid_out {
            made.keep();
        }
    }

    pub(crate) fn number(&self) -> Option<DeviceNumber> {
        Some(self.disk.as_ref()?.number)
    }
}

/// Opens the target; lays it out first if it does not exist and a size is given.
pub(crate) fn open(
    plan: &RunPlan,
    census: &dyn Census,
    control: &Control<'_>,
) -> Result<OpenTarget, OpenError> {
    let (path, workload) = (plan.path.as_path(), &plan.workload);
    let laid_out = lay_out_if_missing(plan, control)?;
    let (file, usage) = open_checked(plan, census)?;
    let meta = file.metadata().map_err(OpenError::system("stat", path))?;
    let device = meta.file_type().is_block_device();
    let capacity = length(&file).map_err(OpenError::system("find the size of", path))?;
    if capacity.get() == 0 {
        return Err(OpenError::Empty { path: path.into() });
    }
    // By its name another file may have been opened.
    let laid_out = laid_out.filter(|made| made.is(&file));
    if workload.rw.writes() && laid_out.is_none() && !device && !plan.allow_overwrite {
        guard_contents(path, &file, capacity, control)?;
    }
    if workload.rw.trims() && device {
        abilities::check_discards(path, &file)?;
    }
    let file_system = if device { Ok(FileSystem::NONE) } else { file_system_of(&file) };
    let file_system = file_system.map_err(OpenError::system("stat", path))?;
    // A measured read should not make the file system update the access time. Only the file's owner
    // may request that, and without it the run is just as good.
    let _ = add_flag(&file, OFlags::NOATIME);
    let memory_align = if plan.direct {
        set_direct(path, Some(workload), &file, file_system)?
    } else {
        if !plan.conduct.keep_cache {
            // As in fio: begin without the file's pages in the page cache. This is advice only.
            let _ = rustix::fs::fadvise(&file, 0, None, Advice::DontNeed);
        }
        1
    };
    let disk = guard::disk_under(path, &meta, usage, census);
    let is_polled = disk.as_ref().and_then(|disk| disk.polled);
    if plan.polling.completions {
        abilities::check_polling(path, workload, plan.direct, is_polled)?;
    }
    let holes = if device { Bytes::ZERO } else { holes_in(workload, &file, capacity) };
    Ok(OpenTarget {
        identity: Identity::of(&file).ok(),
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

fn holes_in(workload: &Workload, file: &File, capacity: Bytes) -> Bytes {
    let (from, end) = (workload.offset.get(), capacity.get());
    let to = workload.size.map_or(end, |size| from.saturating_add(size.get()).min(end));
    holes::within(file, from, to)
}

/// The target of a run without I/O: only a size.
pub(crate) fn nothing(size: Option<Bytes>) -> io::Result<OpenTarget> {
    Ok(OpenTarget {
        file: Arc::new(File::open("/dev/null")?),
        // Arbitrary, and larger than any drive.
        capacity: size.unwrap_or(Bytes::gib(1 << 20)),
        memory_align: 1,
        file_system: FileSystem::NONE,
        holes: Bytes::ZERO,
        laid_out: None,
        trim: Trim::Punch,
        stand_in: Some("the null target, which answers at once".into()),
        disk: None,
        identity: None,
    })
}

/// Lays out the file if it is missing, and refuses anything without blocks before it is opened:
/// opening a pipe waits, and opening a tape rewinds it.
fn lay_out_if_missing(plan: &RunPlan, control: &Control<'_>) -> Result<Option<LaidOut>, OpenError> {
    let path = plan.path.as_path();
    match std::fs::metadata(path) {
        Ok(meta) => has_blocks(path, meta.file_type()).map(|()| None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => match plan.file_size() {
            Some(size) => {
                let check =
                    |file: &File| check_direct(path, plan.direct, Some(&plan.workload), file);
                make(path, size, plan.seed, &check, control)
            }
            None => Err(OpenError::Missing { path: path.into() }),
        },
        Err(source) => Err(OpenError::system("stat", path)(source)),
    }
}

fn make(
    path: &Path,
    size: Bytes,
    seed: u64,
    check: &dyn Fn(&File) -> Result<(), OpenError>,
    control: &Control<'_>,
) -> Result<Option<LaidOut>, OpenError> {
    if size.get() == 0 {
        return Err(OpenError::NothingToLayOut { path: path.into() });
    }
    layout::lay_out(path, size, seed, check, control)
}

/// Creates a file of `size` bytes at `path` if nothing is there: completely written, with random
/// data; on a file system that is capable of direct I/O, where that is wanted. The file is removed
/// with the value that is returned, unless it is kept.
///
/// # Errors
/// There is not enough space, or it cannot be written.
pub fn lay_out(
    path: &Path,
    size: Bytes,
    seed: u64,
    direct: bool,
    control: &Control<'_>,
) -> Result<Option<LaidOut>, OpenError> {
    if path.exists() {
        return Ok(None);
    }
    make(path, size, seed, &|file| check_direct(path, direct, None, file), control)
}

/// Refuses a file on a file system without direct I/O before anything is written to it.
fn check_direct(
    path: &Path,
    direct: bool,
    workload: Option<&Workload>,
    file: &File,
) -> Result<(), OpenError> {
    if !direct {
        return Ok(());
    }
    let system = |operation| OpenError::system(operation, path);
    let before = rustix::fs::fcntl_getfl(file).map_err(|error| system("read")(error.into()))?;
    let on = file_system_of(file).map_err(system("stat"))?;
    set_direct(path, workload, file, on)?;
    // The layout is written through the page cache: the flag was set only to see that it can be.
    rustix::fs::fcntl_setfl(file, before).map_err(|error| system("write")(error.into()))
}

/// Opens it; for writing only if the guard permits, with the facts on which that was decided.
fn open_checked(plan: &RunPlan, census: &dyn Census) -> Result<(File, Option<Usage>), OpenError> {
    let path = plan.path.as_path();
    if !plan.workload.rw.writes() {
        return Ok((writing::open_to_read(path)?, None));
    }
    let WritableTarget { file, usage } = writing::shared(path, &plan.allow_destructive, census)?;
    if plan.verify_state.is_some() && !plan.verifies_part {
        writing::alone(path, &file, census)?;
    }
    Ok((file, Some(usage)))
}

fn add_flag(file: &File, flag: OFlags) -> rustix::io::Result<()> {
    rustix::fs::fcntl_setfl(file, rustix::fs::fcntl_getfl(file)? | flag)
}

fn guard_contents(
    path: &Path,
    file: &File,
    capacity: Bytes,
    control: &Control<'_>,
) -> Result<(), OpenError> {
    let ours = guard::holds_only_ours(file, capacity.get(), &|| control.stopped());
    if ours.map_err(OpenError::system("read", path))? {
        return Ok(());
    }
    Err(GuardError::SomebodysData { path: path.into() }.into())
}

/// Switches to direct I/O; returns the alignment that buffers need.
fn set_direct(
    path: &Path,
    workload: Option<&Workload>,
    file: &File,
    on: FileSystem,
) -> Result<usize, OpenError> {
    let (refused_path, file_system) = (path.to_owned(), on.name);
    if on.in_memory {
        // Since Linux 6.6 tmpfs accepts O_DIRECT and ignores it.
        return Err(OpenError::InMemory { path: refused_path, file_system });
    }
    match add_flag(file, OFlags::DIRECT) {
        // The answer of a file system without O_DIRECT (`man 2 open`).
        Err(rustix::io::Errno::INVAL) => {
            return Err(OpenError::NoDirect { path: refused_path, file_system });
        }
        set => set.map_err(|error| OpenError::system("set O_DIRECT on", path)(error.into()))?,
    }
    let align = alignment::of(file).map_err(OpenError::system("read", path))?;
    // 0 means that this file has no direct I/O (`man 2 statx`).
    if align.offset == 0 {
        return Err(OpenError::NoDirect { path: refused_path, file_system });
    }
    if let Some(workload) = workload {
        alignment::check(workload, align.offset, path)?;
    }
    Ok(align.memory)
}

#[cfg(test)]
mod tests {
    use std::io::IoSliceMut;
    use std::os::unix::fs::FileExt as _;
    use std::sync::atomic::AtomicBool;

    use drivelab_core::JobSchedule;
    use drivelab_core::workload::WorkloadOptions;
    use rustix::io::ReadWriteFlags;

    use super::*;
    use crate::quiet::Quiet;
    use crate::testing::Scratch;

    const BLOCKS: u64 = 256;

    /// Number of blocks of a file just read that are in the page cache once it is open; `None` if
    /// this file system does not report it.
    fn cached(keep_cache: bool) -> Option<u64> {
        let scratch = Scratch::new("open");
        let path = scratch.file("data", &vec![1; 4096 * 256]);
        let file = File::open(&path).unwrap();
        file.sync_all().unwrap();
        file.read_exact_at(&mut vec![0; 4096 * 256], 0).unwrap();
        let stop = AtomicBool::new(false);
        let workload = WorkloadOptions::default().check().unwrap();
        let plan = RunPlan {
            direct: false,
            conduct: JobSchedule { keep_cache, ..JobSchedule::default() },
            ..RunPlan::new(path, workload)
        };
        let control = Control::silent(&stop);
        let opened = open(&plan, &Quiet(Vec::new()), &control).unwrap();
        let mut found = 0;
        for block in 0..BLOCKS {
            let mut data = [0; 4096];
            // Does not wait for blocks that would have to be fetched.
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
        // A page that the kernel is working on meanwhile counts as absent, and one that another
        // process is reading stays.
        assert!(kept > BLOCKS / 2, "{kept} of {BLOCKS}");
        assert!(dropped < BLOCKS / 2, "{dropped} of {BLOCKS}");
    }
}
