//! The results of a host, and their form in the archive.

use drivelab_analysis::digest::{Common, RunDigest};
use drivelab_analysis::fleet::Collection;
use drivelab_analysis::kept;
use drivelab_core::Invalid;
use drivelab_core::record::RunRecord;
use drivelab_host::Inspection;
use serde_json::Value;

use crate::attached;

/// The results of a host: its inspection and its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Collected {
    /// Name of the host.
    pub host: String,
    /// The attachment of its disks.
    pub inspection: Inspection,
    /// One run a target.
    pub runs: Vec<CollectedRun>,
    /// Runs that failed: the target, and why.
    pub failed: Vec<(String, String)>,
}

/// A run on one target of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectedRun {
    /// The file or device.
    pub target: String,
    /// Its result.
    pub record: RunRecord,
}

impl Collected {
    /// The document that is kept; its runs are kept as parts.
    pub fn document(&self) -> String {
        let inspection = serde_json::to_value(&self.inspection).expect("plain data is always JSON");
        kept::collection(&self.host, &inspection)
    }

    /// Out of a document that was kept, and the records of its parts.
    pub fn read(document: &Value, parts: Vec<RunRecord>) -> Result<Self, Invalid> {
        let host = document["host"].as_str().unwrap_or_default().to_owned();
        let inspection = Inspection::from_json(&document["inspection"].to_string());
        let runs = parts
            .into_iter()
            .map(|record: RunRecord| CollectedRun { target: record.target.clone(), record });
        Ok(Self {
            host,
            inspection: inspection.map_err(Invalid::new)?,
            runs: runs.collect(),
            failed: Vec::new(),
        })
    }

    /// The records of its runs.
    pub fn records(&self) -> Vec<RunRecord> {
        self.runs.iter().map(|run| run.record.clone()).collect()
    }

    /// The part that a fleet is compared by; each of its runs has a digest, too.
    pub fn common(&self) -> Common {
        Common::Collection {
            host: self.host.clone(),
            boot: self.inspection.environment.boot.clone(),
            drives: attached::drives(&self.inspection),
        }
    }

    /// The same as it is compared with other hosts.
    pub fn compared(self, time_ms: u64) -> Collection {
        let drives = attached::drives(&self.inspection);
        let boot = self.inspection.environment.boot.clone();
        let runs = self.runs.iter().map(|run| RunDigest::of(&run.record)).collect();
        Collection { host: self.host, time_ms, boot, drives, runs }
    }
}
