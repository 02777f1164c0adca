//! The nature of figures, and reasons to doubt them.

use std::fmt;
use std::str::FromStr;

use serde::de::IntoDeserializer as _;
use serde::de::value::Error as Unknown;
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
    /// The load generator left slots of the queue empty: it was the limit, not the device.
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
    /// The target was not the same during the whole run.
    Changed,
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
    /// The device's I/O is not counted: whether others used it is unknown.
    Uncounted,
    /// Others used the processors meanwhile, so that requests and answers waited for one.
    Contended,
    /// The hypervisor gave the processors to others meanwhile.
    Steal,
    /// The processors were slowed down meanwhile, by heat or by a quota.
    Throttled,
    /// The processors' frequency follows their load.
    Governor,
    /// The way in which the disk is attached, or its state, affects the figures.
    Attachment,
    /// The kernel's clock is too coarse for what each request changes: some cost less than they
    /// would elsewhere.
    CoarseClock,
}

/// The effect of a mark on conclusions about the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The figures may be off, more than their own errors say.
    Inexact,
    /// The figures are of something else than the drive.
    Foreign,
}

/// A reason why the figures of a run are not what they claim to be.
///
/// Each is a fact of one run. Whether it withholds a verdict depends on all runs of an arm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Flaw {
    /// Requests failed: the others are a selection, and the failed ones may be the slow ones.
    Failed {
        /// Requests that failed.
        failed: u64,
        /// All requests, failed ones included.
        requests: u64,
    },
    /// The tool reports an error, not how many requests it concerns.
    Error {
        /// Its report, in a clause.
        what: String,
    },
    /// No request completed.
    Nothing,
    /// An open loop fell behind its rate: latencies depend on the length of the run.
    Behind {
        /// Requests that were issued.
        issued: u64,
        /// Requests that were due.
        due: u64,
    },
    /// The target was not the same during the whole run.
    Changed {
        /// The change, in a clause.
        what: String,
    },
    /// The host that served the drive was too late: it was measured, not the drive.
    Void,
    /// Other load used the device or the processors.
    Disturbed,
}

impl fmt::Display for MarkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

impl FromStr for MarkId {
    type Err = Unknown;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::deserialize(text.into_deserializer())
    }
}

impl MarkId {
    /// The doubt that it casts on the figures as figures of the drive.
    pub const fn doubt(self) -> Option<Doubt> {
        match self {
            Self::PageCache | Self::Void | Self::Changed | Self::Contended => Some(Doubt::Foreign),
            Self::CpuBound
            | Self::GeneratorBound
            | Self::Unsteady
            | Self::Late
            | Self::Busy
            | Self::Steal
            | Self::Throttled
            | Self::CoarseClock => Some(Doubt::Inexact),
            _ => None,
        }
    }

    /// True if it warns of a disturbance of the run, as opposed to stating the nature of
    /// the figures.
    pub const fn is_warning(self) -> bool {
        match self {
            Self::Modelled
            | Self::Scaled
            | Self::Emulated
            | Self::PageCache
            | Self::DriveCache
            | Self::CpuBound
            | Self::GeneratorBound
            | Self::NotDisk
            | Self::OneAtATime
            | Self::Fallback => false,
            Self::Void
            | Self::FewRequests
            | Self::Errors
            | Self::Failed
            | Self::Changed
            | Self::Unanswered
            | Self::Interrupted
            | Self::Unsteady
            | Self::Late
            | Self::Busy
            | Self::Uncounted
            | Self::Contended
            | Self::Steal
            | Self::Throttled
            | Self::Governor
            | Self::Attachment
            | Self::CoarseClock => true,
        }
    }

    /// The nature of the figures, if the mark states that they are not of a disk.
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
            Self::Changed => "the target changed during the run",
            Self::Unanswered => "requests were never answered",
            Self::Interrupted => "stopped before the end",
            Self::Unsteady => "never reached steady state",
            Self::Fallback => "the preferred ioengine was not available",
            Self::Late => "requests were issued later than scheduled",
            Self::Busy => "other I/O used the device during the run",
            Self::Uncounted => "the kernel does not count the device's I/O (iostats)",
            Self::Contended => "other processes used the CPUs: requests and answers waited for one",
            Self::Steal => "the hypervisor took CPU time during the run (steal)",
            Self::Throttled => "the CPUs were throttled during the run",
            Self::Governor => "the CPU frequency follows the load",
            Self::Attachment => "the disk's attachment or state affects the figures",
            Self::CoarseClock => {
                "the kernel's clock is coarse: some requests cost less than elsewhere"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_is_written() {
        for id in [MarkId::NotDisk, MarkId::Contended, MarkId::OneAtATime] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        assert_eq!(MarkId::OneAtATime.to_string(), "one-at-a-time");
        "disk-not".parse::<MarkId>().unwrap_err();
    }
}
