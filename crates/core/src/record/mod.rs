//! The record of a run: its configuration, its figures, and their meaning.
//!
//! These types *are* the JSON of `drivelab run` (schema `drivelab.run/1`): their field names are a
//! contract with scripts.

mod attached;
mod figure;
mod guest;
mod hosts;
mod job;
mod kept;
mod latency;
mod mark;
mod modelled;
mod nature;
mod same_work;
mod specimen;
mod tally;
mod verification;

pub use crate::histogram::Second;
pub use attached::{Attached, AttachedDevice, Fact, FoundFault};
pub use figure::{Better, Figure, Label, Phase, Point, Remark, label_names, metric_name, own_unit};
pub use guest::Guest;
pub use hosts::{
    ClockOffset, HOST_SCHEMA, HOSTS_SCHEMA, HostOutcome, HostRun, HostStart, HostsRecord, Skew,
};
pub use job::{JobRecord, OpRecord, Plateau, Stamp};
pub use kept::{Kept, KeptFigure, Origin};
pub use latency::Latency;
pub use mark::{Doubt, Flaw, Mark, MarkId};
pub use modelled::{FlashWritten, LatenessNs, Served};
pub use nature::{Nature, ReadBack, WrittenFiles};
pub use same_work::{NOT_SET, SUITE, Work, WorkDifference, differences, scope, short, size};
pub use specimen::{Drawn, Specimen, unknown};
pub use tally::{OpTally, Tally, Usage};
pub use verification::{Damage, DamageExample, Verification};

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::JobSchedule;
use crate::workload::Workload;

/// The schema that this version writes.
pub const RUN_SCHEMA: &str = "drivelab.run/1";

/// One run: one configuration, one workload, once. The unit of statistics.
///
/// A load has jobs and their total; any other benchmark has phases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Always [`RUN_SCHEMA`].
    pub schema: String,
    /// The target, in a form that can be given again: a path, or `drive:NAME,...`.
    pub target: String,
    /// The user's name for the run, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// End of the run, in seconds since 1970: shows whether runs of two arms alternated.
    /// Absent in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_unix_s: Option<u64>,
    /// Everything needed to repeat it.
    pub config: RunConfig,
    /// One entry per job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobRecord>,
    /// All jobs together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<JobRecord>,
    /// The parts of a benchmark that is not a load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// The nature of the figures, and reasons to doubt them.
    pub marks: Vec<Mark>,
    /// The machine; absent in virtual time, where it has no influence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// Attachment of the target immediately before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<Attached>,
    /// Lateness of a modelled drive, if it was served in real time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
    /// The kernel that used the drive in virtual time, for a run made in a guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// The specimen that was simulated, if the profile leaves numbers open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub specimen: Option<Specimen>,
    /// Writes to the flash meanwhile, if the drive is a modelled solid-state drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash: Option<FlashWritten>,
    /// The result of reading everything back, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// Each host of a load from many, whose figures `total` has together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Box<HostsRecord>>,
}

/// The configuration of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunConfig {
    /// The version of drivelab.
    pub drivelab: String,
    /// The I/O engine: `io_uring`, `psync` or `virtual`.
    pub ioengine: String,
    /// Polling that was requested, under fio's names: `hipri`, `sqthread_poll`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub polling: Vec<String>,
    /// True if the page cache was bypassed (`O_DIRECT`).
    pub direct: bool,
    /// Jobs that ran together.
    pub numjobs: u32,
    /// The schedule by which they began, shared the target and ended, if requested.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub conduct: JobSchedule,
    /// Seed of all random choices.
    pub seed: u64,
    /// The workload of each job of a load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    /// The suite whose phases these are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<SuiteConfig>,
    /// The command, as passed to the shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Further facts of the work: every option of a suite with the value that was in force.
    #[serde(default, skip_serializing_if = "Work::is_empty")]
    pub work: Work,
}

/// A suite and its options.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteConfig {
    /// Its name, or the file of a recipe.
    pub name: String,
    /// Options that differ from the suite's defaults, in alphabetical order.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

/// In a form that can be given again: `bonnie,size=1G`.
impl fmt::Display for SuiteConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.options.iter().try_for_each(|(key, value)| write!(f, ",{key}={value}"))
    }
}

fn is_usual(conduct: &JobSchedule) -> bool {
    *conduct == JobSchedule::default()
}

/// Facts about a machine that show whether two runs may be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Kernel name and release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Number of usable processors.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Sixteen hex digits derived from the machine's own identity: they distinguish machines
    /// without naming them.
    pub id: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Choice as _;

    const TODAY: &str = include_str!("../../tests/records/today.json");
    /// With the keys of the first version and no others.
    const FIRST: &str = include_str!("../../tests/records/first.json");

    #[test]
    fn records_of_before_phases_are_read_and_those_of_loads_have_stayed_as_they_were() {
        let today: RunRecord = serde_json::from_str(TODAY).unwrap();
        assert_eq!(serde_json::to_string_pretty(&today).unwrap().trim(), TODAY.trim());
        let first: RunRecord = serde_json::from_str(FIRST).unwrap();
        assert_eq!((first.total.unwrap().ios, first.jobs.len()), (12, 1));
        assert_eq!((first.phases, first.attached), (vec![], None));
    }

    #[test]
    fn a_record_of_phases_has_neither_jobs_nor_total_nor_workload() {
        let today: RunRecord = serde_json::from_str(TODAY).unwrap();
        let figures = vec![Figure::new("wall_s", 2.5, Better::Less)];
        let (name, nature, remarks) = ("untar".to_owned(), Nature::JournalSync, Vec::new());
        let record = RunRecord {
            jobs: Vec::new(),
            total: None,
            phases: vec![Phase {
                name,
                nature,
                figures,
                lat_ns: None,
                points: Vec::new(),
                remarks,
            }],
            config: RunConfig { workload: None, ..today.config },
            ..today
        };
        let json = serde_json::to_value(&record).unwrap();
        let has = |key: &str| json.get(key).is_some();
        assert!(has("phases") && !has("jobs") && !has("total"), "{json}");
        assert!(json["config"].get("workload").is_none(), "{json}");
        assert_eq!(serde_json::from_value::<RunRecord>(json).unwrap(), record);
    }

    #[test]
    fn marks_speak_of_natures_in_the_same_words() {
        for mark in [MarkId::PageCache, MarkId::DriveCache] {
            let nature = mark.nature().unwrap();
            assert_eq!(serde_json::to_value(mark).unwrap(), nature.to_string());
            assert_eq!(Label::Nature(nature).name(), nature.name());
        }
        // These two names are older than the vocabulary, and a contract.
        assert_eq!(MarkId::CpuBound.nature(), Some(Nature::Cpu));
        assert_eq!(Label::Nature(Nature::Cpu).name(), "cpu-test");
        for (_, nature) in Nature::NAMES {
            assert!(Label::NAMES.iter().any(|(_, label)| *label == Label::Nature(*nature)));
        }
    }
}
