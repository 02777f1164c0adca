//! A job as its file describes it.

use drivelab_core::units::Bytes;
use drivelab_core::workload::WorkloadOptions;
use drivelab_core::{JobSchedule, Polling};

use super::extent::{Extent, ExtentError};

/// One job section, defaults of fio and of `[global]` filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct FileJob {
    /// The section's name.
    pub name: String,
    /// Jobs of one group run together; each `stonewall` begins another.
    pub group: u32,
    /// The file or device that all copies of the job share, or one for each copy.
    pub targets: Vec<String>,
    /// What is asked of it, apart from where and how long.
    pub workload: WorkloadOptions,
    /// Where, and when it is through.
    pub extent: Extent,
    /// How I/O is done, under drivelab's names.
    pub ioengine: &'static str,
    /// What is polled: `hipri` and `sqthread_poll`.
    pub polling: Polling,
    /// Past the page cache.
    pub direct: bool,
    /// Copies of the job that run together.
    pub numjobs: u32,
    /// How they begin, share the target, and end.
    pub conduct: JobSchedule,
    /// Seed of all random choices.
    pub seed: u64,
    /// Accepted options that change nothing here, each with the reason.
    pub notes: Vec<String>,
}

impl FileJob {
    /// What is asked of a target of `length`, or of one that is to be made.
    ///
    /// # Errors
    /// Nothing says how large the target is, or the options contradict each other.
    pub fn workload(&self, length: Option<Bytes>) -> Result<WorkloadOptions, ExtentError> {
        self.extent.apply(self.workload.clone(), length)
    }
}
