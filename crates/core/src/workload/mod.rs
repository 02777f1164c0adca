//! The requests to a drive during a run: their kinds, sizes, addresses and pace.
//!
//! A [`Workload`] is a plain, checked description. [`Requests`] turns it into the endless seeded
//! sequence of requests, [`Arrivals`] into the times at which an open loop sends them. The two draw
//! from different generators, so the pace never changes the addresses.

mod address;
mod arrival;
mod batches;
mod block;
mod ioengine;
mod job_schedule;
mod mix;
mod options;
mod requests;
mod shape;
mod steady;

pub use address::{Distribution, Strided, Zones};
pub use arrival::{Arrivals, Pace};
pub use batches::Batches;
pub use block::BlockSizes;
pub use ioengine::{IoEngine, Polling};
pub use job_schedule::{FileLock, FlowShare, JOBS_MAX, JobSchedule, LatencyGoal};
pub use mix::Rw;
pub use options::{OPTIONS, Spelling, WorkloadError, WorkloadOption, WorkloadOptions};
pub use requests::Requests;
pub use shape::Shape;
pub use steady::{Criterion, Steady};

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Ratio, Span};

/// One job's work, complete and consistent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own, as in fio")]
pub struct Workload {
    /// Reads, writes or both, sequential or random.
    pub rw: Rw,
    /// The share of reads in a mixed workload.
    pub read_share: Ratio,
    /// Block sizes with their frequencies.
    pub blocks: BlockSizes,
    /// The distribution of random addresses.
    pub distribution: Distribution,
    /// The share of random I/O whose addresses are drawn; the rest follows the previous request.
    #[serde(default = "whole", skip_serializing_if = "is_whole")]
    pub random_share: Ratio,
    /// Random addresses without repetition: every block once before any is repeated (fio's default,
    /// which `norandommap` turns off).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each_once: bool,
    /// Random addresses are multiples of this from the region's beginning; default: the smallest
    /// block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blockalign: Option<Bytes>,
    /// Sequential reads and writes each continue where the last of their kind ended, instead of
    /// sharing one cursor.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_cursors: bool,
    /// A number of writes is flushed only where another one follows, and not after the last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fsync_between: bool,
    /// Sequential blocks from the end of the region to its beginning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub backwards: bool,
    /// Distance between the starts of sequential blocks, if they leave gaps.
    pub stride: Option<Bytes>,
    /// Zones of the region that are used one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strided: Option<Strided>,
    /// First byte of the region that is used.
    pub offset: Bytes,
    /// Size of the region; default: the rest of the target.
    pub size: Option<Bytes>,
    /// Sequential streams, each in its own part of the region, served in turn.
    pub streams: u32,
    /// The times at which requests are sent.
    pub pace: Pace,
    /// Numbers of requests submitted, and of completions processed, together.
    #[serde(default, skip_serializing_if = "Batches::is_default")]
    pub batches: Batches,
    /// A flush after this many writes; 0 for none.
    pub fsync: u32,
    /// The flush does not include metadata of the file such as its modification time (`fdatasync`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fdatasync: bool,
    /// Every write goes through the cache to the medium (`O_DSYNC`, FUA).
    pub sync: bool,
    /// The time during which requests are sent, without warm-up.
    pub runtime: Span,
    /// Warm-up time before the measurement.
    pub ramp_time: Span,
    /// Stop after this many measured requests, if given.
    pub number_ios: Option<u64>,
    /// Stop at steady state, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
}

const fn whole() -> Ratio {
    Ratio::ONE
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_whole(ratio: &Ratio) -> bool {
    *ratio == Ratio::ONE
}
