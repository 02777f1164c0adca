//! `drivelab-mpi collect`: what ranks have kept, where none of them could gather it.

use std::path::PathBuf;

use clap::Args;
use drivelab_lab::mpi;
use drivelab_study::ranks::{Gathered, together};

use super::show::show;
use crate::exit::Outcome;
use crate::ui::Ui;

/// Report what ranks have kept in their folders, after a launcher ended all of them for one.
#[derive(Debug, Args)]
pub(super) struct CollectArgs {
    /// The folders that `drivelab-mpi run` named, brought together from all hosts.
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
}

/// Reads and shows.
pub(super) fn run(arguments: &CollectArgs, ui: Ui) -> Outcome {
    let outcomes = mpi::kept(&arguments.folders)?;
    show(&together(Gathered::of_kept(outcomes)), ui)
}
