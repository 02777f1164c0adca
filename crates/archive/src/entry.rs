//! Runs, studies and everything else that is kept, on their way in and out.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use drivelab_core::Invalid;
use drivelab_core::record::{Figure, Origin, RunRecord};
use ulid::Ulid;

/// The name of a kept run: ids sort as their runs were kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(Ulid);

impl RunId {
    /// The id of a run kept at `time_ms` (milliseconds since 1970); 80 bits of `random` distinguish
    /// it from others of that millisecond.
    pub fn new(time_ms: u64, random: u128) -> Self {
        Self(Ulid::from_parts(time_ms, random))
    }

    /// The id of the part with this number: ids of parts sort by it, behind that of their whole.
    pub fn part(self, number: u32) -> Self {
        // The whole has the number before that of its first part.
        Self(Ulid(self.0.0.wrapping_add(u128::from(number) + 1)))
    }
}

/// A source of ids of which each sorts behind all before it: runs that are kept one after another,
/// or read from one file, keep their order even within a millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunIds {
    last: u128,
}

impl RunIds {
    /// A source that has given no id.
    pub const fn new() -> Self {
        Self { last: 0 }
    }

    /// The next id, of `time_ms` unless one before it was of that time or a later one.
    pub fn next(&mut self, time_ms: u64, random: u128) -> RunId {
        let drawn = RunId::new(time_ms, random);
        // A whole and its parts take up to 2^32 + 1 ids in a row, which the next one must not meet.
        let behind = self.last.saturating_add(1 << 33);
        let id = if self.last == 0 { drawn.0.0 } else { drawn.0.0.max(behind) };
        debug_assert!(self.last < id, "ids ascend");
        self.last = id;
        RunId(Ulid(id))
    }
}

impl Default for RunIds {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.to_string())
    }
}

impl FromStr for RunId {
    type Err = ulid::DecodeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ulid::from_string(text).map(Self)
    }
}

/// The position of a run in the whole that it is a part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The whole.
    pub whole: RunId,
    /// The block, from 0.
    pub block: u32,
    /// The arm, by name.
    pub arm: String,
    /// The workload, the job or the cell, by name.
    pub task: String,
    /// The same as the whole needs it to be read again, as JSON.
    pub json: String,
}

/// A run, or what several runs are the parts of, with all that is kept of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its name.
    pub id: RunId,
    /// Time at which it was kept, in milliseconds since 1970.
    pub time_ms: u64,
    /// The kind of work that made it.
    pub origin: Origin,
    /// The target of the load.
    pub target: String,
    /// The machine, as records name it.
    pub host: Option<String>,
    /// The devices under the target, by name.
    pub devices: Vec<String>,
    /// The modelled drive, or the model of the device.
    pub drive: Option<String>,
    /// The benchmark.
    pub suite: Option<String>,
    /// The user's name for it.
    pub label: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// The commit of the thing that was tested.
    pub commit: Option<String>,
    /// Its position in a whole that it is a part of.
    pub position: Option<Position>,
    /// A picture of its seconds, one character each.
    pub spark: String,
    /// Its figures; a list shows the first.
    pub figures: Vec<Figure>,
    /// The part of it that is read where there are many.
    pub digest: Option<Digest>,
    /// All of it, as JSON whose `schema` says what it is.
    pub document: String,
}

/// A kept document, with the parts that belong to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// The name of it.
    pub id: RunId,
    /// Time at which it was kept, in milliseconds since 1970.
    pub time_ms: u64,
    /// The kind of work that made it.
    pub origin: Origin,
    /// The user's name for it, as it is now.
    pub label: Option<String>,
    /// JSON whose `schema` says what it is.
    pub document: String,
    /// The runs that are parts of it, in their order.
    pub parts: Vec<Part>,
}

/// A run that is a part of something.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its position there, as JSON.
    pub position: String,
    /// The record of the run, as JSON.
    pub document: String,
}

/// The part of a run that comparisons, courses and fleets read instead of its record.
#[derive(Debug, Clone, PartialEq)]
pub struct Digest {
    /// All that many runs share, as JSON whose `schema` says what it is.
    pub common: Arc<str>,
    /// Time at which the run ended, in seconds since 1970, where the record says it.
    pub ended_unix_s: Option<u64>,
    /// Seed of its random numbers.
    pub seed: u64,
    /// A hash of what was asked and measured: copies have the same.
    pub content: u128,
    /// Why its figures are not what they claim to be, as JSON; `None` for a valid run.
    pub flaws: Option<String>,
    /// The values of its figures, in the order in which `common` names them.
    pub values: Vec<f64>,
}

/// A kept run without its document.
#[derive(Debug, Clone, PartialEq)]
pub struct Digested {
    /// The name of it.
    pub id: RunId,
    /// Time at which it was kept, in milliseconds since 1970.
    pub time_ms: u64,
    /// The kind of work that made it.
    pub origin: Origin,
    /// The whole that it is a part of.
    pub whole: Option<RunId>,
    /// Its digest; `None` for a document of a kind that has none.
    pub digest: Option<Digest>,
}

/// A run as lists and comparisons need it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shown {
    /// A picture of its seconds, one character each.
    pub spark: String,
    /// Its figures; those that are not finite are left out.
    pub figures: Vec<Figure>,
    /// Its digest.
    pub digest: Option<Digest>,
}

/// The columns of a row that follow from the record of the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Columns {
    /// The target of the load.
    pub target: String,
    /// The machine, as records name it.
    pub host: Option<String>,
    /// The devices under the target, by name.
    pub devices: Vec<String>,
    /// The modelled drive, or the model of the device.
    pub drive: Option<String>,
    /// The benchmark.
    pub suite: Option<String>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// Its digest.
    pub digest: Option<Digest>,
}

impl Columns {
    /// The columns of a run of drivelab, without a digest.
    pub fn of_run(record: &RunRecord, figures: Vec<Figure>) -> Self {
        let attached = record.attached.as_ref();
        let devices = attached.map(|attached| &attached.devices[..]).unwrap_or_default();
        // The last device is the drive itself, below partitions and volumes.
        let model = devices.iter().rev().find_map(|device| device.facts.get("model"));
        let spec = record.target.strip_prefix("drive:");
        // Options of the drive follow its name behind commas.
        let drive = spec.map(|spec| spec.split(',').next().unwrap_or_default().to_owned());
        Self {
            target: record.target.clone(),
            host: record.host.as_ref().map(|host| host.id.clone()),
            devices: devices.iter().map(|device| device.name.clone()).collect(),
            drive: drive.or_else(|| model.map(ToString::to_string)),
            suite: record.config.suite.as_ref().map(|suite| suite.name.clone()),
            // SQLite stores not-a-number as NULL.
            figures: figures.into_iter().filter(|figure| figure.value.is_finite()).collect(),
            digest: None,
        }
    }
}

/// Reads a document back: the columns that its row must have, or `None` where none follow from it;
/// or why it is not a document. The digest is of use only where the second argument is true.
pub type ReadBack<'a> = &'a dyn Fn(&str, bool) -> Result<Option<Columns>, Invalid>;

/// Reads a whole with its parts, or says what is wrong with them together.
pub type ReadWhole<'a> = &'a dyn Fn(&Whole) -> Result<(), Invalid>;

impl Entry {
    /// The entry of a run of drivelab.
    pub fn of_run(
        id: RunId,
        time_ms: u64,
        (origin, record): (Origin, &RunRecord),
        shown: Shown,
    ) -> Self {
        let Columns { target, host, devices, drive, suite, figures, .. } =
            Columns::of_run(record, shown.figures);
        Self {
            id,
            time_ms,
            origin,
            target,
            host,
            devices,
            drive,
            suite,
            label: record.label.clone(),
            tags: Vec::new(),
            commit: None,
            position: None,
            spark: shown.spark,
            figures,
            digest: shown.digest,
            document: serde_json::to_string(record).expect("plain data is always JSON"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_source_ascend_whatever_their_times_and_random_bits() {
        let mut ids = RunIds::new();
        let drawn = [(7, u128::MAX), (7, 0), (7, 1 << 79), (6, 5), (9, 3), (9, 2)];
        let made: Vec<RunId> =
            drawn.iter().map(|(time_ms, random)| ids.next(*time_ms, *random)).collect();
        assert!(made.is_sorted() && made[0] != made[1], "{made:?}");
        assert_eq!((made[0], made[4]), (RunId::new(7, u128::MAX), RunId::new(9, 3)));
        // All parts of a whole sort before the next.
        assert!(made[1].part(u32::MAX) < made[2]);
    }
}
