//! The parameters of a run on this machine.

use std::path::PathBuf;

use drivelab_core::record::Stamp;
use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;
use drivelab_core::{IoEngine, JobSchedule, Polling};

use crate::file::buffers::Buffers;

/// Everything a run on this machine needs to know.
#[derive(Debug, Clone, PartialEq)]
pub struct RunPlan {
    /// A regular file or a block device. A missing file is laid out, with the size given by the
    /// workload's offset and size.
    pub path: PathBuf,
    /// The workload of each job.
    pub workload: Workload,
    /// Jobs that run together.
    pub numjobs: u32,
    /// The way in which they begin, share the target, and end.
    pub conduct: JobSchedule,
    /// Seed of all random choices.
    pub seed: u64,
    /// The way in which I/O is done; default: the best available one.
    pub ioengine: Option<IoEngine>,
    /// Polling for requests and completions, on a ring.
    pub polling: Polling,
    /// Bypasses the page cache (`O_DIRECT`).
    pub direct: bool,
    /// The file's contents may be destroyed, even foreign data.
    pub allow_overwrite: bool,
    /// Block devices that may be written, by the names the user repeated: exactly as in `path`.
    pub allow_destructive: Vec<PathBuf>,
    /// The rate of time stamps.
    pub stamp: Stamp,
    /// Label everything written, and record it in this state file.
    pub verify_state: Option<PathBuf>,
    /// Other plans of this process verify other parts of the target at the same time.
    pub verifies_part: bool,
}

impl RunPlan {
    /// One job of `workload` without the page cache, which destroys nothing.
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
            verifies_part: false,
        }
    }

    /// Size of the file that is laid out if it is missing: up to the end of the last job's region.
    pub(crate) fn file_size(&self) -> Option<Bytes> {
        let step = self.conduct.offset_increment.unwrap_or_default().get();
        let behind = step.saturating_mul(u64::from(self.numjobs.saturating_sub(1)));
        let last = self.workload.offset.get().saturating_add(behind);
        Some(Bytes::new(last + self.workload.size?.get()))
    }

    /// Bytes of memory for its requests' buffers.
    pub(crate) fn buffers(&self) -> u64 {
        let workload = &self.workload;
        let sets = u64::from(workload.rw.reads()) + u64::from(workload.rw.sends());
        let one = Buffers::size(workload.pace.iodepth(), workload.blocks.largest(), sets);
        one.get().saturating_mul(u64::from(self.numjobs))
    }
}
