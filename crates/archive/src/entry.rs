//! What is kept of a run.

use std::fmt;
use std::str::FromStr;

use drivelab_core::record::{Figure, Origin, RunRecord};
use ulid::Ulid;

/// The name of a kept run: ids sort as their runs were kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(Ulid);

impl RunId {
    /// The id of a run kept at `time_ms` (milliseconds since 1970), told from others of that
    /// millisecond by 80 bits of `random`.
    pub fn new(time_ms: u64, random: u128) -> Self {
        Self(Ulid::from_parts(time_ms, random))
    }

    /// The id of the part with this number: ids of parts sort by it, behind that of their whole.
    pub fn part(self, number: u32) -> Self {
        Self(Ulid(self.0.0.wrapping_add(u128::from(number) + 1)))
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

/// Where a run stands in the whole that it is a part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
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
    /// When it was kept, in milliseconds since 1970.
    pub time_ms: u64,
    /// What made it.
    pub origin: Origin,
    /// What was measured.
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
    /// What it is a part of.
    pub place: Option<Place>,
    /// What its seconds look like, one character each.
    pub spark: String,
    /// Its figures; a list shows the first.
    pub figures: Vec<Figure>,
    /// All of it, as JSON whose `schema` says what it is.
    pub document: String,
}

/// A kept document, with the parts that belong to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// The name of it.
    pub id: RunId,
    /// When it was kept, in milliseconds since 1970.
    pub time_ms: u64,
    /// What made it.
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
    /// Where it stands there, as JSON.
    pub place: String,
    /// The record of the run, as JSON.
    pub document: String,
}

/// What a list shows of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shown {
    /// What its seconds look like, one character each.
    pub spark: String,
    /// Its figures; those that are not finite are left out.
    pub figures: Vec<Figure>,
}

/// What a row says of a run, which the record of the run says too.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Columns {
    /// What was measured.
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
}

impl Columns {
    /// Those of a run of drivelab.
    pub fn of_run(record: &RunRecord, figures: Vec<Figure>) -> Self {
        let attached = record.attached.as_ref();
        let devices = attached.map(|attached| &attached.devices[..]).unwrap_or_default();
        let model = devices.iter().rev().find_map(|device| device.facts.get("model"));
        let spec = record.target.strip_prefix("drive:");
        let drive = spec.map(|spec| spec.split(',').next().unwrap_or_default().to_owned());
        Self {
            target: record.target.clone(),
            host: record.host.as_ref().map(|host| host.id.clone()),
            devices: devices.iter().map(|device| device.name.clone()).collect(),
            drive: drive.or_else(|| model.map(ToString::to_string)),
            suite: record.config.suite.as_ref().map(|suite| suite.name.clone()),
            figures: figures.into_iter().filter(|figure| figure.value.is_finite()).collect(),
        }
    }
}

/// Reads a document back: what its row must say, or `None` where a row says nothing of it that is
/// found there; or why it is none.
pub type ReadBack<'a> = &'a dyn Fn(&str) -> Result<Option<Columns>, String>;

impl Entry {
    /// The entry of a run of drivelab.
    pub fn of_run(
        id: RunId,
        time_ms: u64,
        (origin, record): (Origin, &RunRecord),
        shown: Shown,
    ) -> Self {
        let Columns { target, host, devices, drive, suite, figures } =
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
            place: None,
            spark: shown.spark,
            figures,
            document: serde_json::to_string(record).expect("plain data is always JSON"),
        }
    }
}
