//! The writes and events behind a failure.

use drivelab_core::crash::Cut;
use drivelab_core::{Lba, Sectors, Span, Time};
use serde_json::{Value, json};

/// A write, or part of it, that a cut lost.
#[derive(Debug, Clone)]
pub struct LostWrite {
    /// Its first sector.
    pub lba: Lba,
    /// Its length.
    pub sectors: Sectors,
    /// The length of the part that was lost.
    pub lost: Sectors,
    /// The time from its submission to the cut.
    pub age: Span,
    /// True if it was acknowledged.
    pub acknowledged: bool,
    /// Its contents, as far as the file system says.
    pub holds: String,
}

/// An event before a cut.
#[derive(Debug, Clone)]
pub struct Moment {
    /// The time of the event.
    pub at: Time,
    /// A description of the event.
    pub what: String,
}

/// The writes and events behind a failure.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The cut.
    pub cut: Cut,
    /// Writes that were not durable.
    pub volatile: usize,
    /// The writes that were lost, in the order of submissions.
    pub lost: Vec<LostWrite>,
    /// The fewest whose loss has the same finding.
    pub smallest: Vec<LostWrite>,
    /// True if leaving out any one of them changes the finding.
    pub is_smallest: bool,
    /// Trials that this took.
    pub trials: usize,
    /// Lines that the workload had printed.
    pub lines: usize,
    /// The last of them, requests and system calls before the cut.
    pub before: Vec<Moment>,
}

impl Explanation {
    pub(super) fn to_json(&self) -> Value {
        let writes = |writes: &[LostWrite]| writes.iter().map(write).collect::<Vec<_>>();
        json!({
            "replay": self.cut.to_string(),
            "volatile_writes": self.volatile,
            "lost_writes": writes(&self.lost),
            "smallest_loss": writes(&self.smallest),
            "is_smallest": self.is_smallest,
            "trials": self.trials,
            "lines": self.lines,
            "before": self.before.iter().map(|moment| json!({
                "at_ns": moment.at.ns(), "what": moment.what,
            })).collect::<Vec<_>>(),
        })
    }
}

fn write(write: &LostWrite) -> Value {
    json!({
        "lba": write.lba.get(),
        "bytes": write.sectors.bytes().get(),
        "lost_bytes": write.lost.bytes().get(),
        "age_ns": write.age.ns(),
        "acknowledged": write.acknowledged,
        "holds": write.holds,
    })
}
