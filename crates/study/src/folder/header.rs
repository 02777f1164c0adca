//! `plan.json`: the study that a results folder belongs to.

use std::path::Path;

use drivelab_core::Refusal;
use drivelab_core::StageName;
use drivelab_core::config::Choice as _;
use drivelab_core::plan::{Plan, Scale};
use serde::{Deserialize, Serialize};

use crate::asked::Asked;
use crate::keep::{KeptFolder, Owner, Seal, read};
use drivelab_core::Control;

/// The study that a results folder belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of this layout.
    pub schema: String,
    /// The measured target: two targets are the same when this text is.
    pub target: String,
    /// The stage.
    pub stage: StageName,
    /// Seed of all random choices.
    pub seed: u64,
    /// The order of the runs.
    pub plan: Plan,
    /// The command line; absent in folders of versions before 2 of this layout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
}

/// The layout that this version writes.
pub const PLAN_SCHEMA: &str = "drivelab.plan/2";
/// The layout without checksums, in which blocks of arms that take a reboot shared boots. It is
/// still read where that plays no part.
const PLAN_SCHEMA_PLAIN: &str = "drivelab.plan/1";

impl Header {
    /// True if a line of its journal, which belongs to `owner`, is as it was written.
    pub(crate) fn holds(&self, owner: &Owner, line: &[u8]) -> bool {
        match owner.check(line) {
            Seal::Whole => true,
            Seal::Absent => self.is_plain(),
            Seal::Broken => false,
        }
    }

    /// True if its journal may have lines without a checksum.
    pub(crate) fn is_plain(&self) -> bool {
        self.schema == PLAN_SCHEMA_PLAIN
    }

    /// The only workloads; all where empty.
    pub(crate) fn only(&self) -> &[String] {
        self.asked.as_ref().map_or(&[], |asked| &asked.only)
    }

    /// The scale of the work.
    pub(crate) fn scale(&self) -> Scale {
        self.asked.as_ref().map_or(Scale::Stated, |asked| asked.scale)
    }

    /// The owner of the runs of the study in `text`.
    pub(crate) fn owner(&self, text: &str) -> Owner {
        let plan = serde_json::to_vec(&self.plan).expect("plain data is always JSON");
        let seed = self.seed.to_le_bytes();
        let chosen = self.only().join(",");
        let mut parts = vec![
            text.as_bytes(),
            self.stage.name().as_bytes(),
            self.target.as_bytes(),
            &seed,
            &plan,
        ];
        // The meaning of a workload's index depends on the workloads that are left.
        if !chosen.is_empty() {
            parts.push(chosen.as_bytes());
        }
        // The same workload is other work at full scale.
        if self.scale() != Scale::Stated {
            parts.push(self.scale().name().as_bytes());
        }
        Owner::of(&parts)
    }

    /// Writes it into the folder, which thereby counts as begun.
    pub(super) fn write(&self, folder: &KeptFolder, control: &Control<'_>) -> Result<(), Refusal> {
        let json = serde_json::to_string(self).expect("plain data is always JSON");
        let line = own_owner().seal(&json) + "\n";
        folder.write("plan.json", line.as_bytes(), control).map(drop)
    }

    /// Reads it out of the folder.
    pub(crate) fn read(folder: &Path) -> Result<PlanFile, Refusal> {
        let path = folder.join("plan.json");
        let Some(text) = read::bytes(&path, read::PLAN)? else { return Ok(PlanFile::Missing) };
        let text = text.trim_ascii();
        let seal = own_owner().check(text);
        let header: Option<Self> = serde_json::from_slice(text).ok();
        // A schema of a later version may mean other things by the same keys.
        let whole = header.filter(|header| match seal {
            Seal::Whole => header.schema == PLAN_SCHEMA,
            Seal::Absent => header.is_plain(),
            Seal::Broken => false,
        });
        Ok(whole.map_or(PlanFile::Damaged, |header| PlanFile::Whole(Box::new(header))))
    }
}

/// The state of `plan.json`.
#[derive(Debug)]
pub(crate) enum PlanFile {
    /// There is none: nothing was begun.
    Missing,
    /// It is not as it was written.
    Damaged,
    Whole(Box<Header>),
}

fn own_owner() -> Owner {
    Owner::of(&[b"drivelab.plan"])
}
