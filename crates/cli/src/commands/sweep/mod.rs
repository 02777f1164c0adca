//! `sweep`: one load on many points of a space of settings, and which of them matters.

mod keep;
mod report;
mod rows;

pub(crate) use self::report::show;
pub(crate) use self::rows::RowsArgs;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use drivelab_study::sweep::Shard;

use self::keep::SweepKeepArgs;
use self::report::SweepReportArgs;
use crate::exit::{Exit, Outcome};
use crate::ui::{Console, Progress, Ui};
use drivelab_lab::interrupt;
use drivelab_lab::sweep::Modelled;

/// Make one run at many points of a space of settings, and say which of them matters.
///
/// The file determines the points. Each runs once and is saved next to the file, so an interrupted
/// sweep can be resumed, or split over machines with --shard: the rows are the same, byte by byte.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  drivelab sweep sweep.toml
  drivelab sweep sweep.toml --shard 2/7         the second of seven shares
  drivelab sweep report sweep.toml --out shares.html
  drivelab sweep keep sweep.toml --best 10      the ten best points, as runs in the archive
  parallel drivelab sweep sweep.toml --shard {}/7 ::: 1 2 3 4 5 6 7"
)]
pub(crate) struct SweepArgs {
    #[command(subcommand)]
    verb: Option<SweepVerb>,
    /// The sweep file.
    #[arg(required = true)]
    file: Option<PathBuf>,
    /// The share of the points to make: 2/7 is the second of seven.
    #[arg(long, default_value_t = Shard::WHOLE, value_name = "I/N")]
    shard: Shard,
    #[command(flatten)]
    rows: RowsArgs,
}

#[derive(Debug, Subcommand)]
enum SweepVerb {
    Report(SweepReportArgs),
    Keep(SweepKeepArgs),
}

/// Makes the points, or reports them.
pub(crate) fn run(arguments: SweepArgs, ui: Ui) -> Outcome {
    match (arguments.verb, arguments.file) {
        (Some(SweepVerb::Report(report)), _) => report::run(&report, ui),
        (Some(SweepVerb::Keep(keep)), _) => keep::run(&keep, ui),
        (None, Some(file)) => make(&file, arguments.shard, &arguments.rows, ui),
        (None, None) => unreachable!("the parser asks for a file"),
    }
}

fn make(file: &Path, shard: Shard, rows: &RowsArgs, ui: Ui) -> Outcome {
    let modelled = Modelled::read(file)?;
    let own = (0..modelled.points()?.len()).filter(|number| shard.holds(*number)).count();
    let progress = Progress::steps(own as u64, "points");
    let console = Console::with_progress(ui, progress);
    let kept = modelled.make(shard, &rows.folder(file), &console.control())?;
    drop(console);
    if interrupt::requested() {
        ui.note("interrupted: repeat the command to continue");
        return Ok(Exit::Interrupted);
    }
    let swept = modelled.swept(&kept);
    if shard != Shard::WHOLE && swept.missing() > 0 {
        ui.note(&format!(
            "shard {shard} is made; of other shards, {} missing",
            match swept.missing() {
                1 => "1 point is".to_owned(),
                missing => format!("{missing} points are"),
            }
        ));
    }
    show(&swept, ui)
}
