//! `fleet`: what many hosts have, and which of their disks differ from their peers.

mod collect;
mod outliers;

#[cfg(feature = "view")]
pub(crate) use self::outliers::page;

use clap::{Args, Subcommand};

use self::collect::CollectArgs;
use self::outliers::OutliersArgs;
use crate::exit::Outcome;
use crate::ui::Ui;

/// Collect inspections and short runs from many hosts, and find the disks that differ.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab fleet collect web1 web2 --archive postgres://lab@db/drivelab
  drivelab fleet collect --hosts hosts.txt -- --rw randread --bs 4k --runtime 10s
  drivelab fleet outliers --since 7d --out findings/")]
pub(crate) struct FleetArgs {
    #[command(subcommand)]
    verb: FleetVerb,
}

#[derive(Debug, Subcommand)]
enum FleetVerb {
    Collect(CollectArgs),
    Outliers(OutliersArgs),
}

/// Carries it out.
pub(crate) fn run(arguments: FleetArgs, ui: Ui) -> Outcome {
    match arguments.verb {
        FleetVerb::Collect(collect) => collect::run(&collect, ui),
        FleetVerb::Outliers(outliers) => outliers::run(&outliers, ui),
    }
}
