//! A run with all that is kept of it.

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

/// Where a run stands in a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The study, by the id of the first run kept of it.
    pub study: RunId,
    /// The block, from 0.
    pub block: u32,
    /// The arm, by name.
    pub arm: String,
    /// What was run, by name.
    pub task: String,
}

/// A run with all that is kept of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its name.
    pub id: RunId,
    /// When it was kept, in milliseconds since 1970.
    pub time_ms: u64,
    /// What made it.
    pub origin: Origin,
    /// The modelled drive, or the model of the device.
    pub drive: Option<String>,
    /// The benchmark.
    pub suite: Option<String>,
    /// The commit of the thing that was tested.
    pub tested: Option<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// Where it stands in a study.
    pub place: Option<Place>,
    /// What its seconds look like, one character each.
    pub spark: String,
    /// Its figures; a list shows the first.
    pub figures: Vec<Figure>,
    /// What it measured, with target, host and label.
    pub record: RunRecord,
}
