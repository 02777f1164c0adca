//! What a cell left.

use serde::{Deserialize, Serialize};

use super::Cell;
use crate::record::{Attached, MarkId, RunRecord};

/// The figures of one cell: one line of the matrix's results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Which cell.
    pub cell: Cell,
    /// One entry a target, in the order of the matrix.
    pub figures: Vec<CellFigures>,
}

/// One target's figures in a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellFigures {
    /// The target.
    pub target: String,
    /// Data moved a second.
    pub bytes_per_s: f64,
    /// Requests a second.
    pub iops: f64,
    /// Latency from the intended moment: median, 99 % and the longest.
    pub lat_ns: [u64; 3],
    /// Requests that failed.
    pub errors: u64,
    /// What casts doubt on the figures.
    pub marks: Vec<MarkId>,
    /// How the target was attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<Attached>,
}

impl CellFigures {
    /// The figures of a run.
    ///
    /// # Panics
    /// It was no load.
    pub fn of(record: &RunRecord) -> Self {
        let total = record.total.as_ref().expect("a cell is a load");
        let lat = &total.lat_ns;
        Self {
            target: record.target.clone(),
            bytes_per_s: total.bytes_per_s,
            iops: total.iops,
            lat_ns: [lat.p50, lat.p99, lat.max],
            errors: total.errors,
            marks: record.marks.iter().map(|mark| mark.id).collect(),
            attached: record.attached.clone(),
        }
    }
}

impl CellResult {
    /// All targets together, in bytes a second.
    pub fn bytes_per_s(&self) -> f64 {
        self.figures.iter().map(|figures| figures.bytes_per_s).sum()
    }
}
