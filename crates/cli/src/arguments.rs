//! The command line as it is typed.

use clap::{Parser, Subcommand};

use crate::commands;

/// A laboratory for disks: measures honestly, compares soundly, models what you don't have.
#[derive(Debug, Parser)]
#[command(name = "drivelab", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    /// Print one JSON document instead of text.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  drivelab study ahci-or-ide                         is it worth enabling AHCI? (virtual time)
  drivelab study buffered-or-direct --target FILE    the same machinery on a real file
  drivelab run FILE --rw randread --bs 4k --iodepth 32 --runtime 5s
  drivelab run drive:seagate-st31000333as,controller=ide --iodepth 32
  drivelab compare before.json after.json            what may be concluded from stored runs
  drivelab serve seagate-st31000333as --nbd unix:/tmp/drive.sock    a slow disk for any program
  drivelab durability FILE                           does the drive keep what it promises?
  drivelab drive list                                the drives that are modelled
  drivelab inspect                                   how this machine's disks are attached

Exit codes: 0 done, no regression; 1 the answer is no; 2 bad request; 3 this machine cannot;
4 inconclusive; 70 a bug in drivelab; 130 interrupted (partial results kept).";

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Study(commands::study::StudyArgs),
    Run(Box<commands::run::RunArgs>),
    Compare(commands::compare::CompareArgs),
    Serve(commands::serve::ServeArgs),
    Durability(commands::durability::DurabilityArgs),
    Drive(commands::drive::DriveArgs),
    Inspect(commands::inspect::InspectArgs),
    Replay(commands::replay::ReplayArgs),
    Completions(commands::generate::CompletionsArgs),
    Man(commands::generate::ManArgs),
}
