//! `plan.json`: what a results folder belongs to.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use drivelab_core::plan::Plan;
use drivelab_core::units::Bytes;
use serde::{Deserialize, Serialize};

use crate::failure::{AtPath as _, Failure};
use crate::keep::{self, Owner, Seal};

/// What a results folder belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Version of this layout.
    pub(crate) schema: String,
    /// What is measured: two targets are the same when this text is.
    pub(crate) target: String,
    pub(crate) stage: String,
    pub(crate) seed: u64,
    pub(crate) plan: Plan,
    /// What was typed; absent in folders of versions before 2 of this layout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) asked: Option<Asked>,
}

/// What was typed, for `--resume` to remember.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Asked {
    /// The study's file or name.
    pub(crate) study: String,
    /// Blocks, as asked for: a grouped plan gathers them into fewer.
    pub(crate) blocks: u32,
    /// The target, as typed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<String>,
    /// The same from the root on, for a session in another folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) size: Option<Bytes>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) overwrite: bool,
}

/// The layout that this version writes.
pub(crate) const PLAN_SCHEMA: &str = "drivelab.plan/2";
/// The layout without checksums, in which blocks of arms that take a reboot shared boots. It is
/// still read where that plays no part.
const PLAN_SCHEMA_PLAIN: &str = "drivelab.plan/1";

impl Header {
    /// Whether lines without a checksum may stand in its journal.
    pub(super) fn is_plain(&self) -> bool {
        self.schema == PLAN_SCHEMA_PLAIN
    }

    /// What the runs of the study in `text` belong to.
    pub(super) fn owner(&self, text: &str) -> Owner {
        let plan = serde_json::to_vec(&self.plan).expect("plain data is always JSON");
        let seed = self.seed.to_le_bytes();
        Owner::of(&[text.as_bytes(), self.stage.as_bytes(), self.target.as_bytes(), &seed, &plan])
    }

    /// Writes it into the folder, which thereby counts as begun.
    pub(super) fn write(&self, folder: &Path) -> Result<(), Failure> {
        let json = serde_json::to_string(self).expect("plain data is always JSON");
        keep::write(&folder.join("plan.json"), (own_owner().seal(&json) + "\n").as_bytes())
    }

    /// Reads it out of the folder.
    pub(super) fn read(folder: &Path) -> Result<PlanFile, Failure> {
        let path = folder.join("plan.json");
        let text = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(PlanFile::Missing),
            text => text.at_path("read", &path)?,
        };
        let text = text.trim_ascii();
        let seal = own_owner().check(text);
        let header: Option<Self> = serde_json::from_slice(text).ok();
        let whole = header.filter(|header| match seal {
            Seal::Whole => header.schema == PLAN_SCHEMA,
            Seal::Absent => header.is_plain(),
            Seal::Broken => false,
        });
        Ok(whole.map_or(PlanFile::Damaged, |header| PlanFile::Whole(Box::new(header))))
    }
}

/// What `plan.json` is.
#[derive(Debug)]
pub(super) enum PlanFile {
    /// There is none: nothing was begun.
    Missing,
    /// It is not as it was written.
    Damaged,
    Whole(Box<Header>),
}

fn own_owner() -> Owner {
    Owner::of(&[b"drivelab.plan"])
}
