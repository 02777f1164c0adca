//! What a run leaves behind: its configuration, its figures, and what they may be taken for.
//!
//! These types *are* the JSON of `drivelab run` (schema `drivelab.run/1`): their field names are a
//! contract with whoever scripts against them.

mod attached;
mod host;
mod job;
mod latency;
mod mark;
mod served;
mod stamp;
mod tally;
mod verification;

pub use attached::{Attached, AttachedDevice, Fact, FoundFault};
pub use host::Host;
pub use job::{JobRecord, OpRecord, Plateau, Second};
pub use latency::Latency;
pub use mark::{Mark, MarkId};
pub use served::{LatenessNs, Served};
pub use stamp::Stamp;
pub use tally::{OpTally, Tally};
pub use verification::{Fault, FaultExample, Verification};

use serde::{Deserialize, Serialize};

use crate::JobSchedule;
use crate::workload::Workload;

/// The schema that this version writes.
pub const RUN_SCHEMA: &str = "drivelab.run/1";

/// One run: one configuration, one workload, once. The unit of statistics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Always [`RUN_SCHEMA`].
    pub schema: String,
    /// What was measured, as it can be given again: a path, or `drive:NAME,...`.
    pub target: String,
    /// The user's name for the run, where given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Everything needed to repeat it.
    pub config: RunConfig,
    /// One entry a job.
    pub jobs: Vec<JobRecord>,
    /// All jobs together.
    pub total: JobRecord,
    /// What the figures are, and what casts doubt on them.
    pub marks: Vec<Mark>,
    /// The machine; absent where nothing of it can matter, in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// How the target was attached just before; absent in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<Attached>,
    /// How late a modelled drive was, where one was served in real time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
    /// What reading everything back found, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
}

/// How a run was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    /// The version that made it.
    pub drivelab: String,
    /// What moves the data: `io_uring`, `psync` or `virtual`.
    pub ioengine: String,
    /// What was polled for, under fio's names: `hipri`, `sqthread_poll`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub polling: Vec<String>,
    /// Whether the page cache was passed by (`O_DIRECT`).
    pub direct: bool,
    /// Jobs that ran together.
    pub numjobs: u32,
    /// How they began, shared the target and ended, where that was asked for.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub conduct: JobSchedule,
    /// Seed of everything random.
    pub seed: u64,
    /// What each job did.
    pub workload: Workload,
}

fn is_usual(conduct: &JobSchedule) -> bool {
    *conduct == JobSchedule::default()
}
