//! What a run on this machine is asked to do.

use std::path::PathBuf;

use drivelab_core::record::Stamp;
use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;
use drivelab_core::{IoEngine, JobSchedule, Polling};

use crate::file::buffers::Buffers;

/// Everything a run on this machine needs to know.
#[derive(Debug, Clone, PartialEq)]
pub struct RunPlan {
    /// A regular file or a block device. A file that does not exist is laid out, as large as the
    /// workload's offset and size say.
    pub path: PathBuf,
    /// What each job does.
    pub workload: Workload,
    /// Jobs that run together.
    pub numjobs: u32,
    /// How they begin, share the target, and end.
    pub conduct: JobSchedule,
    /// Seed of all random choices.
    pub seed: u64,
    /// How I/O is done; the best there is where absent.
    pub ioengine: Option<IoEngine>,
    /// Who looks for requests and completions, on a ring.
    pub polling: Polling,
    /// Past the page cache (`O_DIRECT`).
    pub direct: bool,
    /// The file's contents may be destroyed, whoever wrote them.
    pub allow_overwrite: bool,
    /// Block devices that may be written, by the names the user repeated: exactly as in `path`.
    pub allow_destructive: Vec<PathBuf>,
    /// How often latency stamps are taken.
    pub stamp: Stamp,
    /// Label everything written, and keep account of it in this file.
    pub verify_state: Option<PathBuf>,
}

impl RunPlan {
    /// One job of `workload` past the page cache, which destroys nothing.
    pub fn new(path: PathBuf, workload: Workload) -> Self {
        Self {
            path,
            workload,
            numjobs: 1,
            conduct: JobSchedule::default(),
            seed: 1,
            ioengine: None,
            polling: Polling::default(),
            direct: true,
            allow_overwrite: false,
            allow_destructive: Vec::new(),
            stamp: Stamp::Io,
            verify_state: None,
        }
    }

    /// Bytes of the file that is laid out where there is none: up to the end of the last job's
    /// region.
    pub(crate) fn file_size(&self) -> Option<Bytes> {
        let step = self.conduct.offset_increment.unwrap_or_default().get();
        let behind = step.saturating_mul(u64::from(self.numjobs.saturating_sub(1)));
        let last = self.workload.offset.get().saturating_add(behind);
        Some(Bytes::new(last + self.workload.size?.get()))
    }

    /// Bytes of memory that its requests' buffers take.
    pub(crate) fn buffers(&self) -> u64 {
        let workload = &self.workload;
        let sets = u64::from(workload.rw.reads()) + u64::from(workload.rw.sends());
        let one = Buffers::size(workload.pace.iodepth(), workload.blocks.largest(), sets);
        one.get().saturating_mul(u64::from(self.numjobs))
    }
}
