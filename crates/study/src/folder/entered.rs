//! The arm that is in force, so that a later session undoes it where this one is killed.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use drivelab_core::Refusal;
use serde::{Deserialize, Serialize};

use crate::keep::{AtPath as _, KeptFolder, Owner, Seal};
use crate::stage::PlannedRun;
use drivelab_core::Control;

const NAME: &str = "entered.json";

/// The arm that was entered and not left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InForce {
    pub(crate) arm: String,
    /// The run under way, where its workload has a `reset`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<PlannedRun>,
}

/// Records what is about to be put in force: it is on the disk when this returns.
pub(super) fn keep(
    folder: &KeptFolder,
    owner: &Owner,
    in_force: &InForce,
    control: &Control<'_>,
) -> Result<(), Refusal> {
    let object = serde_json::to_string(in_force).expect("plain data is always JSON");
    folder.write(NAME, owner.seal(&object).as_bytes(), control).map(drop)
}

/// Records that no arm is in force.
pub(super) fn remove(folder: &KeptFolder) -> Result<(), Refusal> {
    folder.remove(NAME)
}

/// The arm that an earlier session entered and did not leave.
pub(super) fn read(folder: &Path, owner: &Owner) -> Result<Option<InForce>, Refusal> {
    let path = path_in(folder);
    let text = match fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        text => text.at_path("read", &path)?,
    };
    let entered: Option<InForce> = serde_json::from_slice(&text).ok();
    // A torn or foreign file must not cause the wrong arm to be undone.
    let whole = entered.filter(|_| owner.check(&text) == Seal::Whole);
    whole
        .map(Some)
        .ok_or_else(|| Refusal::request(format!("`{}` is damaged", path.display())).hint(BY_HAND))
}

const BY_HAND: &str =
    "it named an arm in force: undo all arms by hand, remove the file, then continue with --resume";

pub(super) fn path_in(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

/// Refuses to begin where an arm of an earlier session may be in force.
pub(super) fn refuse(folder: &Path) -> Result<(), Refusal> {
    let path = path_in(folder);
    if !path.try_exists().at_path("read", &path)? {
        return Ok(());
    }
    let message = format!(
        "an earlier session in `{}` ended while one of its arms was in force",
        folder.display()
    );
    Err(Refusal::request(message)
        .hint("add --resume: it undoes the arm and continues that study")
        .hint(format!("or undo it by hand and remove `{}`", path.display())))
}
