//! What a figure measures, and reasons to doubt it.

use serde::{Deserialize, Serialize};

use super::Nature;

/// A remark that accompanies a result wherever it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Stable identifier, for scripts.
    pub id: MarkId,
    /// Its meaning in this run, with the evidence.
    pub message: String,
}

/// The kinds of marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkId {
    /// Virtual time over a model: no real device was touched.
    Modelled,
    /// A part of a drive was modelled, in proportion.
    Scaled,
    /// A model served in real time: no real device was touched.
    Emulated,
    /// The host that served the drive was too late: it was measured, not the drive.
    Void,
    /// The host's page cache answered, or may have.
    PageCache,
    /// The drive's own cache answered most requests.
    DriveCache,
    /// The processor, not the device, was the limit.
    CpuBound,
    /// The load generator left places of the queue empty: it was the limit, not the device.
    GeneratorBound,
    /// Not a measurement of a disk.
    NotDisk,
    /// One request at a time: effects of queuing or reordering cannot show.
    OneAtATime,
    /// Too few requests for the printed tail.
    FewRequests,
    /// Requests failed.
    Errors,
    /// The command failed, was killed, or did not print the expected figures: there is no figure.
    Failed,
    /// Requests were never answered.
    Unanswered,
    /// The run was stopped before its end.
    Interrupted,
    /// The figures never reached steady state as requested.
    Unsteady,
    /// The engine fell back to another way of doing I/O.
    Fallback,
    /// Requests were sent later than the requested pace.
    Late,
    /// Other programs used the device meanwhile.
    Busy,
    /// The hypervisor gave the processors to others meanwhile.
    Steal,
    /// The processors were slowed down meanwhile, by heat or by a quota.
    Throttled,
    /// The processors' frequency follows their load.
    Governor,
}

impl MarkId {
    /// What was measured instead of the disk, if the mark says that.
    pub const fn nature(self) -> Option<Nature> {
        match self {
            Self::PageCache => Some(Nature::PageCache),
            Self::DriveCache => Some(Nature::DriveCache),
            Self::CpuBound => Some(Nature::Cpu),
            _ => None,
        }
    }

    /// Its meaning for any run, in a few words; a run's own [`Mark::message`] has the evidence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Modelled => "model in virtual time, no real device",
            Self::Scaled => "a part of the drive was modelled, in proportion",
            Self::Emulated => "model served in real time, no real device",
            Self::Void => "the host was later than the drive: not a measurement of the drive",
            Self::PageCache => {
                "the page cache answered, or may have: not a measurement of the disk"
            }
            Self::DriveCache => "the drive's own cache answered",
            Self::CpuBound => "the CPU was the bottleneck, not the device",
            Self::GeneratorBound => "the load generator, not the device, limited the rate",
            Self::NotDisk => "cannot be a disk measurement",
            Self::OneAtATime => "one request at a time: command queuing cannot show",
            Self::FewRequests => "too few requests for the tail",
            Self::Errors => "requests failed",
            Self::Failed => "the command failed: it has no figures",
            Self::Unanswered => "requests were never answered",
            Self::Interrupted => "stopped before the end",
            Self::Unsteady => "never reached steady state",
            Self::Fallback => "the preferred ioengine was not available",
            Self::Late => "requests were issued later than scheduled",
            Self::Busy => "other I/O used the device during the run",
            Self::Steal => "the hypervisor took CPU time during the run (steal)",
            Self::Throttled => "the CPUs were throttled during the run",
            Self::Governor => "the CPU frequency follows the load",
        }
    }
}
