//! `drivelab-mpi collect`: what ranks have kept, where none of them could gather it.

use std::path::{Path, PathBuf};

use clap::Args;
use drivelab_core::record::{HOST_SCHEMA, HostOutcome};
use drivelab_study::keep::{Owner, Seal};
use drivelab_study::ranks::{Gathered, together};

use super::show::show;
use crate::exit::Outcome;
use crate::ui::Ui;
use drivelab_core::{AtPath as _, Refusal};
use drivelab_lab::input;

/// Report what ranks have kept in their folders, after a launcher ended all of them for one.
#[derive(Debug, Args)]
pub(super) struct CollectArgs {
    /// The folders that `drivelab-mpi run` named, brought together from all hosts.
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
}

/// Reads and shows.
pub(super) fn run(arguments: &CollectArgs, ui: Ui) -> Outcome {
    let mut outcomes = Vec::new();
    for folder in &arguments.folders {
        for entry in std::fs::read_dir(folder).at_path("list", folder)? {
            let path = entry.at_path("list", folder)?.path();
            if path.extension().is_some_and(|ending| ending == "json") {
                outcomes.push(read(&path)?);
            }
        }
    }
    if outcomes.is_empty() {
        let folder = arguments.folders[0].display();
        return Err(Refusal::request(format!("`{folder}` holds no results of a rank"))
            .hint("name the folder of `drivelab-mpi run --keep-in`"));
    }
    show(&together(Gathered::of_kept(outcomes)), ui)
}

/// The owner of the ranks' files, which end in its checksums.
pub(super) fn owner() -> Owner {
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
