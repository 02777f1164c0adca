//! `drivelab-mpi run`: the same load from all hosts, begun at the same instant.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::Args;
use drivelab_core::record::RunRecord;
use drivelab_core::units::Span;
use drivelab_core::{Refusal, Rng};
use drivelab_engine::RunPlan;
use drivelab_lab::archive::entries;
use drivelab_lab::mpi::{self, Mpi, of_rank};
use drivelab_lab::stage::hardware::start::measured;
use drivelab_lab::target::Target;
use drivelab_lab::{Request, interrupt};
use drivelab_study::keep::make_folder;
use drivelab_study::ranks::{Crew, Gathered, Line, Measured, Own, Ranks as _, make, together};
use serde::{Deserialize, Serialize};

use super::line::WaitArgs;
use super::show::show;
use crate::commands::archive::keep::KeepArgs;
use crate::commands::run::RunArgs;
use crate::exit::{Exit, Outcome};
use crate::ui::{Console, Progress, Ui};

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

/// The broadcast of rank 0: all ranks carry out the same request, in folders of one name.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    request: Request,
    label: Option<String>,
    folder: PathBuf,
    ready_within: Span,
    patience: Span,
}

/// Carries it out on this rank.
pub(super) fn run(arguments: HostsRunArgs, ui: Ui) -> Outcome {
    let ranks = Mpi::start()?;
    let outcome = on(&ranks, arguments, ui);
    ranks.end(outcome)
}

/// The end of this rank, and true if all ranks may end the library together.
fn on(ranks: &Mpi, arguments: HostsRunArgs, ui: Ui) -> Result<(Exit, bool), Refusal> {
    // Until the plan is known, the time that its default gives.
    let mut first = Crew::new(ranks, Span::from_secs(600));
    let rank = ranks.rank();
    let (plan, keep) = if rank == 0 {
        let own = planned(arguments).and_then(|(plan, keep)| Ok((words_of(&plan)?, plan, keep)));
        // The others learn of a refusal from a plan that is none.
        let words = own.as_ref().map_or(b"null".as_slice(), |(words, ..)| words);
        first.broadcast(words);
        own.map(|(_, plan, keep)| (plan, Some(keep)))?
    } else {
        match received(&mut first)? {
            Some(plan) => (plan, None),
            // Rank 0 says what is wrong with the request.
            None => return Ok((Exit::BadRequest, false)),
        }
    };
    let terms = mpi::terms(plan.ready_within, plan.patience);
    let mut crew = Crew::new(ranks, terms.patience);
    let own = make(&mut crew, &terms, |line| {
        let load = load_of(&plan.request, rank, &terms.host)?;
        make_folder(&plan.folder)?;
        one(&load, line, (rank, plan.label.clone()))
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
    if let Err(failure) = mpi::keep(&plan.folder, &own, &Console::new(ui).control()) {
        ui.warn(&format!("rank {rank} has not kept its figures: {failure}"));
    }
    let deadline = ranks.now() + terms.patience;
    let gathered = Gathered::of(&mut crew, &own, deadline);
    let may_finish = crew.part();
    let Some(gathered) = gathered else {
        let exit = if may_finish { Exit::Done } else { Exit::HostsLost };
        return Ok((if interrupt::requested() { Exit::Interrupted } else { exit }, may_finish));
    };
    let runs = gathered.outcomes.iter().map(|it| entries::run(&it.host.run)).collect();
    let kept = keep.map_or(Exit::Done, |keep| keep.keep(runs, ui));
    let exit = show(&together(gathered), ui)?.or(kept);
    if exit == Exit::HostsLost {
        let folder = plan.folder.display();
        ui.note(&format!("each rank has kept its own figures: drivelab-mpi collect {folder}"));
    }
    Ok((exit, may_finish))
}

/// The plan of rank 0, and how its result is kept.
fn planned(arguments: HostsRunArgs) -> Result<(Plan, KeepArgs), Refusal> {
    let HostsRunArgs { run, wait, keep_in } = arguments;
    let (request, output) = run.of_hosts()?;
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    // Windows and some shared file systems take no colon in a name.
    let now = now.trim_end_matches('Z').replace(':', "-");
    let folder = keep_in.unwrap_or_else(|| Path::new("drivelab-hosts").join(now));
    let WaitArgs { ready_within, patience } = wait;
    let plan = Plan { request, label: output.label, folder, ready_within, patience };
    Ok((plan, output.keep))
}

/// The plan as rank 0 sends it: paths are sent as text.
fn words_of(plan: &Plan) -> Result<Vec<u8>, Refusal> {
    serde_json::to_vec(plan).map_err(|error| {
        Refusal::request("the plan cannot be sent to the other ranks")
            .because(error)
            .hint("give paths that are UTF-8: rename the file or the folder")
    })
}

/// The plan of rank 0, as another rank receives it; `None` if rank 0 refused the request.
fn received(crew: &mut Crew<'_, Mpi>) -> Result<Option<Plan>, Refusal> {
    let plan = crew.broadcast(&[]);
    let plan = plan.and_then(|plan| serde_json::from_slice::<Option<Plan>>(&plan).ok());
    let plan = plan.ok_or_else(|| {
        Refusal::machine("rank 0 sent no plan")
            .hint("start all ranks with the same version of drivelab-mpi")
    })?;
    plan.as_ref().map_or(Ok(()), |plan| plan.request.check())?;
    Ok(plan)
}

/// The load of one rank, with its addresses drawn independently.
fn load_of(request: &Request, rank: u32, host: &str) -> Result<RunPlan, Refusal> {
    let (Some(load), Target::Path(path)) = (request.load(), &request.target) else {
        return Err(Refusal::bug("rank 0 asked for something else than a load"));
    };
    let path = of_rank(&path.display().to_string(), rank, host);
    request.permissions.check_load(&load.workload, Some(Path::new(&path)))?;
    let seed = request.seed;
    // Rank 0 makes the requests that a run on one host makes with this seed.
    let seed = if rank == 0 { seed } else { Rng::for_part(seed, u64::from(rank)).bits() };
    Ok(load.plan(path.into(), seed, &request.permissions))
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
