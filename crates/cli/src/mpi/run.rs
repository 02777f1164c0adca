//! `drivelab-mpi run`: the same load from all hosts, begun at the same instant.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use drivelab_core::record::{HostOutcome, RunRecord};
use drivelab_core::units::Span;
use drivelab_core::{Refusal, Rng};
use drivelab_engine::RunPlan;
use drivelab_study::keep::{make_folder, write};
use drivelab_study::ranks::{Crew, Gathered, Line, Measured, Own, Ranks as _, make, together};
use serde::{Deserialize, Serialize};

use super::collect;
use drivelab_lab::stage::hardware::start::measured;

use super::line::{WaitArgs, of_rank};
use super::ranks::Mpi;
use super::show::show;
use crate::commands::run::RunArgs;
use crate::exit::{Exit, Outcome};
use crate::ui::{Console, Progress, Ui};
use drivelab_lab::interrupt;

/// Measure a file or a device from all hosts at the same time.
///
/// {rank} in TARGET becomes the number of the rank, and {host} the name of its host. All ranks
/// begin at one instant, whatever their clocks say, and exchange nothing until they have measured.
/// Each of them keeps its figures in a folder before rank 0 gathers them.
#[derive(Debug, Args)]
pub(super) struct HostsRunArgs {
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    wait: WaitArgs,
    /// The folder on each host where its rank keeps its figures [default: `drivelab-hosts/` and the
    /// time].
    #[arg(long, value_name = "DIR", help_heading = "Hosts")]
    keep_in: Option<PathBuf>,
}

/// The broadcast of rank 0: all ranks carry out the same plan, in folders of one name.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    words: Vec<String>,
    folder: PathBuf,
}

/// Parses a command line.
pub(super) type Given = fn(&[String]) -> Option<Box<HostsRunArgs>>;

/// Carries it out on this rank.
pub(super) fn run(given: Given, ui: Ui) -> Outcome {
    let mpi = Mpi::start()?;
    let outcome = on(&mpi, given, ui);
    mpi.end(outcome)
}

/// The end of this rank, and true if all ranks may end the library together.
fn on(mpi: &Mpi, given: Given, ui: Ui) -> Result<(Exit, bool), Refusal> {
    // Until the plan is known, the time that its default gives.
    let mut first = Crew::new(mpi, Span::from_secs(600));
    let (plan, arguments) = broadcast(&mut first, given)?;
    let terms = arguments.wait.terms();
    let mut crew = Crew::new(mpi, terms.patience);
    let rank = mpi.rank();
    let own = make(&mut crew, &terms, |line| {
        let load = load_of(&arguments.run, rank, &terms.host)?;
        make_folder(&plan.folder)?;
        one(&load, line, (rank, arguments.run.label()))
    });
    let own = match own {
        Own::Made(own) => *own,
        // Its own fault, with its own hints; where it had begun, the others count it as lost.
        Own::Unable(failure) | Own::Failed(failure) => return Err(failure),
        // One rank says why, the others end.
        Own::Refused(why) if rank == 0 => {
            return Err(
                Refusal::machine(why).hint("nothing was measured: every rank must be ready")
            );
        }
        Own::Refused(_) => return Ok((Exit::CannotHere, false)),
    };
    if let Err(failure) = keep(&plan.folder, &own, ui) {
        ui.warn(&format!("rank {rank} has not kept its figures: {failure}"));
    }
    let deadline = mpi.now() + terms.patience;
    let gathered = Gathered::of(&mut crew, &own, deadline);
    let may_finish = crew.part();
    let Some(gathered) = gathered else {
        let exit = if may_finish { Exit::Done } else { Exit::HostsLost };
        return Ok((if interrupt::requested() { Exit::Interrupted } else { exit }, may_finish));
    };
    let runs: Vec<RunRecord> = gathered.outcomes.iter().map(|it| it.host.run.clone()).collect();
    let kept = arguments.run.keep(&runs, ui);
    let exit = show(&together(gathered), ui)?.or(kept);
    if exit == Exit::HostsLost {
        let folder = plan.folder.display();
        ui.note(&format!("each rank has kept its own figures: drivelab-mpi collect {folder}"));
    }
    Ok((exit, may_finish))
}

fn broadcast(crew: &mut Crew<'_, Mpi>, given: Given) -> Result<(Plan, Box<HostsRunArgs>), Refusal> {
    let words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let named = given(&words).and_then(|arguments| arguments.keep_in);
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S").to_string();
    let folder = named.unwrap_or_else(|| Path::new("drivelab-hosts").join(now));
    let plan = serde_json::to_vec(&Plan { words, folder }).expect("words are always JSON");
    let plan = crew.broadcast(&plan);
    let plan = plan.and_then(|plan| serde_json::from_slice::<Plan>(&plan).ok());
    let read = plan.and_then(|plan| {
        let arguments = given(&plan.words)?;
        Some((plan, arguments))
    });
    read.ok_or_else(|| {
        Refusal::machine("rank 0 sent no plan")
            .hint("start all ranks with the same version of drivelab-mpi")
    })
}

/// The load of one rank, with its addresses drawn independently.
fn load_of(arguments: &RunArgs, rank: u32, host: &str) -> Result<RunPlan, Refusal> {
    let plan = arguments.of_rank(|target| of_rank(target, rank, host))?;
    let seed = if rank == 0 { plan.seed } else { Rng::for_part(plan.seed, u64::from(rank)).bits() };
    Ok(RunPlan { seed, ..plan })
}

/// The run of one rank, of which rank 0 shows how far it is.
fn one(
    load: &RunPlan,
    line: &mut Line<'_>,
    (rank, label): (u32, Option<String>),
) -> Result<Option<Measured>, Refusal> {
    let workload = &load.workload;
    let time = Duration::from_nanos((workload.runtime + workload.ramp_time).ns());
    let progress = Progress::time(time, &load.path.display().to_string());
    let progress = if rank == 0 { progress } else { progress.silent() };
    let made = measured(load, &progress.control(), line)?;
    Ok(made.map(|made| Measured { record: RunRecord { label, ..made.record }, ..made }))
}

/// Keeps the figures of this rank where none but itself is needed to.
fn keep(folder: &Path, own: &HostOutcome, ui: Ui) -> Result<(), Refusal> {
    let path = folder.join(format!("rank-{}.json", own.host.rank));
    let text = serde_json::to_string(own).expect("plain data is always JSON");
    write(&path, collect::owner().seal(&text).as_bytes(), &Console::new(ui).control())
}
