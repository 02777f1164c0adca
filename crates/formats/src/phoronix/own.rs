//! Data that drivelab adds to an exported result, so that nothing is lost on the way back.

use drivelab_core::record::{Figure, Nature, Remark, Work};
use serde::{Deserialize, Serialize};

/// The origin of tests that drivelab names.
pub(super) const ORIGIN: &str = "drivelab/";

/// The prefix of the name of the tool that measured, in the field where the suite names itself.
pub(super) const CLIENT: &str = "drivelab export of ";

/// The content of an entry's `JSON`; the suite itself reads other keys of it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Own {
    drivelab: Known,
}

#[derive(Debug, Serialize, Deserialize)]
struct Known {
    #[serde(default)]
    unit: String,
    #[serde(default)]
    nature: Option<Nature>,
    #[serde(default)]
    is_detail: bool,
    #[serde(default)]
    remarks: Vec<Remark>,
    #[serde(default, skip_serializing_if = "Work::is_empty")]
    work: Work,
}

impl Own {
    /// A figure of runs that did this work.
    pub(super) fn new(figure: &Figure, work: &Work) -> Self {
        let Figure { unit, nature, is_detail, remarks, .. } = figure.clone();
        let work = work.clone();
        Self { drivelab: Known { unit, nature, is_detail, remarks, work } }
    }

    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("plain data is always JSON")
    }

    pub(super) fn read(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The work of the runs.
    pub(super) fn work(&self) -> &Work {
        &self.drivelab.work
    }

    /// The nature of a figure, if known.
    pub(super) fn nature(&self) -> Option<Nature> {
        self.drivelab.nature
    }

    pub(super) fn restore(&self, figure: &mut Figure) {
        let Known { unit, is_detail, remarks, .. } = &self.drivelab;
        figure.unit.clone_from(unit);
        figure.is_detail = *is_detail;
        figure.remarks.clone_from(remarks);
    }
}
