//! The part of kept runs that comparisons, courses and fleets read instead of their records.
//!
//! A record has some kilobytes, and an archive may have 100,000 of them: so each run is kept with
//! a digest, most of which it shares with the other runs of the same work.

use std::sync::Arc;

use drivelab_core::record::{AttachedDevice, Figure, Flaw, MarkId, RunRecord, Specimen, Work};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::attachment::{self, Facts};
use crate::{marks, run, validity};

/// The part of a digest that many runs share, by kind of what was kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "schema")]
pub enum Common {
    /// A run of drivelab.
    #[serde(rename = "drivelab.run-digest/1")]
    Run(Box<CommonRun>),
    /// A run of another tool.
    #[serde(rename = "drivelab.results-digest/1")]
    Results {
        /// Its work, as far as that is known.
        work: Work,
    },
    /// All that was collected from a host.
    #[serde(rename = "drivelab.collection-digest/1")]
    Collection {
        /// The host.
        host: String,
        /// The boot of the host; unknown in collections of older versions.
        boot: Option<String>,
        /// Its drives, as its inspection found them.
        drives: Vec<AttachedDevice>,
    },
}

impl Common {
    /// The JSON that is kept.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain data is always JSON")
    }

    /// Reads it back; `None` for one of another version.
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// The part of the digest of a run of drivelab that many runs share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommonRun {
    /// Its figures, each without its value.
    pub figures: Vec<Figure>,
    /// Its work as keys and values.
    pub work: Work,
    /// Its work and its target in words.
    pub title: String,
    /// The options of the command that makes it again.
    pub options: String,
    /// The same command with `$block` as its seed, where the user gave no command.
    pub command: Option<String>,
    /// Kinds of its marks.
    pub marks: Vec<MarkId>,
    /// The machine; `None` in virtual time.
    pub host: Option<String>,
    /// The target as it was asked for and the drive that was simulated.
    pub simulated: Option<(String, Specimen)>,
    /// Settings with which the target was attached.
    pub facts: Facts,
    /// The drives under the target.
    pub drives: Vec<AttachedDevice>,
}

/// The digest of a run of drivelab.
#[derive(Debug, Clone, PartialEq)]
pub struct RunDigest {
    /// The part that it may share.
    pub common: Arc<CommonRun>,
    /// The rest.
    pub own: Own,
}

/// The part of a digest that no other run has.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Own {
    /// Time at which the run ended, in seconds since 1970, where that is known.
    pub ended_unix_s: Option<u64>,
    /// Seed of its random numbers.
    pub seed: u64,
    /// A hash of what was asked and measured: a copy has the same.
    pub content: u128,
    /// Why its figures are not what they claim to be.
    pub flaws: Vec<Flaw>,
    /// The values of its figures.
    pub values: Vec<f64>,
}

impl RunDigest {
    /// The digest of a record.
    pub fn of(record: &RunRecord) -> Self {
        let mut figures = run::metrics(record);
        for figure in &mut figures {
            figure.remarks.extend(marks::remarks(record));
        }
        let values = figures.iter_mut().map(|figure| std::mem::take(&mut figure.value)).collect();
        let own = Own {
            ended_unix_s: record.ended_unix_s,
            seed: record.config.seed,
            content: content(record),
            flaws: validity::flaws(record),
            values,
        };
        let drives = record.attached.iter().flat_map(|attached| &attached.devices);
        let command = record.config.command.is_none().then(|| run::command_of_block(record));
        let common = CommonRun {
            figures,
            work: Work::of(record),
            title: run::work(record),
            options: run::options(record).join(" "),
            command,
            marks: record.marks.iter().map(|mark| mark.id).collect(),
            host: record.host.as_ref().map(|host| host.id.clone()),
            simulated: record.specimen.clone().map(|drive| (record.target.clone(), drive)),
            facts: attachment::facts(record),
            // Of a volume, its members are the disks that may be judged.
            drives: drives.filter(|device| device.made_of.is_empty()).cloned().collect(),
        };
        debug_assert_eq!(common.figures.len(), own.values.len(), "a value for each figure");
        Self { common: Arc::new(common), own }
    }

    /// The value of a figure, and which direction of it is better.
    pub fn figure(&self, name: &str) -> Option<(&Figure, f64)> {
        let mut figures = self.common.figures.iter().zip(self.own.values.iter().copied());
        figures.find(|(figure, _)| figure.name == name)
    }
}

/// 128 bits of a hash, of which no two different runs of an archive agree by chance. It is kept,
/// so it must not depend on the version of the compiler.
fn content(record: &RunRecord) -> u128 {
    hash(&(&record.target, &record.config, &record.total, &record.phases))
}

/// 128 bits of a hash of the JSON of `all`.
pub(crate) fn hash(all: &impl Serialize) -> u128 {
    let text = serde_json::to_vec(all).expect("plain data is always JSON");
    let mut half = [0; 16];
    // Half of the hash: chance gives no two runs of an archive the same.
    half.copy_from_slice(&Sha256::digest(text)[..16]);
    u128::from_le_bytes(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = include_str!("../../core/tests/records/today.json");

    #[test]
    fn a_shared_part_comes_back_as_it_was_kept() {
        let record = run::parse(RECORD).unwrap().remove(0);
        let digest = RunDigest::of(&record);
        let common = Common::Run(Box::new((*digest.common).clone()));
        assert_eq!(Common::from_json(&common.to_json()), Some(common));
        assert!(digest.common.figures.iter().all(|figure| figure.value == 0.0));
        assert_eq!(Common::from_json("{\"schema\":\"drivelab.run-digest/2\"}"), None);
    }

    #[test]
    fn the_digest_of_a_record_stays_the_same_within_a_revision() {
        let record = run::parse(include_str!("../../core/tests/records/first.json")).unwrap();
        let RunDigest { common, own } = RunDigest::of(&record[0]);
        let values: Vec<u64> = own.values.iter().map(|value| value.to_bits()).collect();
        let common = Common::Run(Box::new((*common).clone())).to_json();
        let said = format!("{common} {values:?} {} {} {:?}", own.content, own.seed, own.flaws);
        let hash = Sha256::digest(said);
        let found = u64::from_be_bytes(hash[..8].try_into().unwrap());
        let revise = "digests say something else: give `REVISION` of the archive another value";
        assert_eq!(found, 0x9a71_160a_c4ed_09c5, "{revise}, and this test the new hash");
    }

    #[test]
    fn runs_of_the_same_work_share_all_but_their_values() {
        let record = run::parse(RECORD).unwrap().remove(0);
        let mut other = record.clone();
        other.config.seed += 1;
        other.total.as_mut().unwrap().iops *= 2.0;
        let (one, other) = (RunDigest::of(&record), RunDigest::of(&other));
        assert_eq!(one.common, other.common);
        assert_ne!(one.own.content, other.own.content);
        assert!(one.figure("iops").unwrap().1 < other.figure("iops").unwrap().1);
        assert_eq!(one.figure("seeks"), None);
    }
}
