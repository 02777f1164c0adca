//! `drivelab-mpi sweep`: the points of a sweep as a queue of work for all ranks.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

use clap::Args;
use drivelab_core::units::Span;
use drivelab_study::ranks::{Crew, Ranks as _, share};
use drivelab_study::sweep::Rows;

use crate::commands::sweep::{RowsArgs, show};
use crate::exit::{Exit, Outcome};
use crate::ui::{Console, Ui};
use drivelab_core::Refusal;
use drivelab_lab::interrupt;
use drivelab_lab::mpi::Mpi;
use drivelab_lab::stage::parallel;
use drivelab_lab::sweep::Modelled;

/// Most points that a thread makes in a batch: fewer than a shard's, as the last batch is waited
/// for.
const POINTS_A_THREAD: usize = 64;

/// Make the points of a sweep on all ranks, which take them from rank 0 in batches.
///
/// The rows are the same bytes as those of `drivelab sweep`, in a folder that all ranks share.
/// Points that are there are not made again.
#[derive(Debug, Args)]
pub(super) struct RanksSweepArgs {
    /// The sweep file.
    file: PathBuf,
    #[command(flatten)]
    rows: RowsArgs,
    /// How long rank 0 waits for a batch before its rank counts as lost.
    #[arg(long, value_name = "TIME", default_value = "1m")]
    patience: Span,
}

/// Makes them, and has rank 0 report.
pub(super) fn run(arguments: &RanksSweepArgs, ui: Ui) -> Outcome {
    let mpi = Mpi::start()?;
    let outcome = on(&mpi, arguments, ui);
    mpi.end(outcome)
}

/// The end of this rank, and true if all ranks may end the library together.
fn on(mpi: &Mpi, arguments: &RanksSweepArgs, ui: Ui) -> Result<(Exit, bool), Refusal> {
    let modelled = Modelled::read(&arguments.file)?;
    let points = modelled.points()?;
    let folder = arguments.rows.folder(&arguments.file);
    let mut crew = Crew::new(mpi, arguments.patience);
    let (rank, size) = (mpi.rank(), mpi.size());
    let mut missing = Vec::new();
    if rank == 0 {
        modelled.check(&points)?;
        let known = modelled.rows(&folder, &points)?;
        missing.extend((0..points.len()).filter(|number| !known.rows.contains_key(number)));
    }
    // `Rows::open` needs a file that no other rank writes.
    let mut rows = Rows::open(&folder, &format!("rows-rank-{rank}-of-{size}.jsonl"))?;
    let console = Console::new(ui);
    let threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let batch = threads.get() * modelled.points_a_thread(POINTS_A_THREAD);
    share(&mut crew, &missing, batch, interrupt::requested, |numbers| {
        let batch: Vec<_> = numbers.iter().map(|number| points.point(*number)).collect();
        let made = parallel::map(threads, &batch, |point| modelled.row(point));
        let made: Vec<_> = made.into_iter().collect::<Result<_, _>>()?;
        // What was made while it was interrupted may be cut short.
        if !interrupt::requested() {
            rows.append(&made, &console.control())?;
        }
        Ok::<(), Refusal>(())
    })?;
    let may_finish = crew.part();
    if rank > 0 {
        let exit = if may_finish { Exit::Done } else { Exit::HostsLost };
        return Ok((if interrupt::requested() { Exit::Interrupted } else { exit }, may_finish));
    }
    if interrupt::requested() {
        ui.note("interrupted: repeat the command to continue");
        return Ok((Exit::Interrupted, may_finish));
    }
    let lost: Vec<u32> = crew.lost().collect();
    if !lost.is_empty() {
        ui.warn(&format!("ranks were lost: {lost:?}; the same command makes what is missing"));
    }
    // Read again, as other ranks have added rows.
    let exit = show(&modelled.swept(&modelled.rows(&folder, &points)?), ui)?;
    Ok((if lost.is_empty() { exit } else { Exit::HostsLost }, may_finish))
}
