//! A job as described in its file.

use drivelab_core::units::Bytes;
use drivelab_core::workload::WorkloadOptions;
use drivelab_core::{JobSchedule, Polling};

use super::extent::{Extent, ExtentError};

/// One job section, completed with fio's defaults and those of `[global]`.
#[derive(Debug, Clone, PartialEq)]
pub struct FileJob {
    /// The section's name.
    pub name: String,
    /// Jobs of one group run together; each `stonewall` begins another.
    pub group: u32,
    /// The file or device that all copies of the job share, or one for each copy.
    pub targets: Vec<String>,
    /// Its workload, except for region and duration.
    pub workload: WorkloadOptions,
    /// Its region, and when it ends.
    pub extent: Extent,
    /// The way of doing I/O, under drivelab's names.
    pub ioengine: &'static str,
    /// Polling: `hipri` and `sqthread_poll`.
    pub polling: Polling,
    /// Bypasses the page cache.
    pub direct: bool,
    /// Copies of the job that run together.
    pub numjobs: u32,
    /// Begin and end of the copies, and their shares of the target.
    pub conduct: JobSchedule,
    /// Seed of all random choices of the first job of the file; those of the others are derived
    /// from it with their number, as in fio.
    pub seed: u64,
    /// Jobs of the file, or of the command, before this one, copies included.
    pub number: u32,
    /// A missing file may be created.
    pub may_create: bool,
    /// Accepted options without effect here, each with the reason.
    pub notes: Vec<String>,
}

impl FileJob {
    /// The workload for a target of `length`, or for one that has yet to be created.
    ///
    /// # Errors
    /// The size of the target is not given, or the options contradict each other.
    pub fn workload(&self, length: Option<Bytes>) -> Result<WorkloadOptions, ExtentError> {
        self.extent.apply(self.workload.clone(), length)
    }

    /// The workload for copy `copy` of the job, whose region begins `offset_increment` behind that
    /// of the previous one, and ends at the latest at the end of the target.
    ///
    /// # Errors
    /// As [`FileJob::workload`].
    pub fn workload_of(
        &self,
        copy: u32,
        length: Option<Bytes>,
    ) -> Result<WorkloadOptions, ExtentError> {
        let step = self.conduct.offset_increment.unwrap_or_default().get();
        let behind = step.saturating_mul(u64::from(copy));
        self.extent.behind(behind).apply(self.workload.clone(), length)
    }
}
