//! The figures that each rank keeps in a folder, before rank 0 gathers them.

use std::path::{Path, PathBuf};

use drivelab_core::record::{HOST_SCHEMA, HostOutcome};
use drivelab_core::{AtPath as _, Control, Refusal};
use drivelab_study::keep::{Owner, Seal, write};

use crate::input;

/// Reads what ranks have kept in folders.
///
/// # Errors
/// A file is damaged or not what a rank keeps, or there is none.
pub fn kept(folders: &[PathBuf]) -> Result<Vec<HostOutcome>, Refusal> {
    let mut outcomes = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).at_path("list", folder)? {
            let path = entry.at_path("list", folder)?.path();
            if path.extension().is_some_and(|ending| ending == "json") {
                outcomes.push(read(&path)?);
            }
        }
    }
    if outcomes.is_empty() {
        let folder = folders.first().map(|it| it.display().to_string()).unwrap_or_default();
        return Err(Refusal::request(format!("`{folder}` holds no results of a rank"))
            .hint("name the folder of `drivelab-mpi run --keep-in`"));
    }
    Ok(outcomes)
}

/// Keeps the figures of one rank in a folder, where only that rank needs to reach it.
pub fn keep(folder: &Path, own: &HostOutcome, control: &Control<'_>) -> Result<(), Refusal> {
    let path = folder.join(format!("rank-{}.json", own.host.rank));
    let text = serde_json::to_string(own).expect("plain data is always JSON");
    write(&path, owner().seal(&text).as_bytes(), control)
}

/// The owner of the ranks' files, which end in its checksums.
fn owner() -> Owner {
    Owner::of(&[HOST_SCHEMA.as_bytes()])
}

fn read(path: &Path) -> Result<HostOutcome, Refusal> {
    let text = input::text(path, input::RESULTS)?;
    // Earlier versions wrote none.
    if owner().check(text.trim_ascii_end().as_bytes()) == Seal::Broken {
        return Err(Refusal::request(format!("`{}` is damaged", path.display()))
            .hint("bring the file of that rank here again, or leave it out: it counts as lost"));
    }
    let outcome: Result<HostOutcome, _> = serde_json::from_str(&text);
    outcome.ok().filter(|outcome| outcome.schema == HOST_SCHEMA).ok_or_else(|| {
        Refusal::request(format!("`{}` is not what a rank keeps", path.display()))
            .hint("keep other files out of this folder")
    })
}
