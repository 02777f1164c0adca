//! `drivelab-mpi run`: the same load from all hosts, begun at the same instant.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use drivelab_core::Rng;
use drivelab_core::record::{HOST_SCHEMA, HostOutcome, HostRun, HostStart, RunRecord, Tally};
use drivelab_core::units::{Span, Time};
use drivelab_engine::{Progress as Step, RunPlan, StartLine};
use drivelab_study::keep::{make_folder, write};
use drivelab_study::ranks::{Agreed, Begun, Crew, Gathered, Ranks as _, begin, together};
use serde::{Deserialize, Serialize};

use super::ranks::Mpi;
use super::show::show;
use crate::commands::run::RunArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::interrupt;
use crate::measure;
use crate::ui::{Console, Progress, Ui};

/// Measure a file or a device from all hosts at the same time.
///
/// `{rank}` in TARGET becomes the number of the rank, and {host} the name of its host. All ranks
/// begin at one instant, whatever their clocks say, and exchange nothing until they have measured.
/// Each of them keeps its figures in a folder before rank 0 gathers them.
#[derive(Debug, Args)]
pub(super) struct HostsRunArgs {
    #[command(flatten)]
    run: RunArgs,
    /// How long the slowest rank may take to open or lay out its target.
    #[arg(long, value_name = "TIME", default_value = "10m", help_heading = "Hosts")]
    ready_within: Span,
    /// How long rank 0 waits for a rank after the end of the load, before it counts as lost.
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = "Hosts")]
    patience: Span,
    /// The folder on each host where its rank keeps its figures [default: `drivelab-hosts/` and the
    /// time].
    #[arg(long, value_name = "DIR", help_heading = "Hosts")]
    keep_in: Option<PathBuf>,
}

/// What rank 0 broadcasts: all ranks carry out the same plan, in folders of one name.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    words: Vec<String>,
    folder: PathBuf,
}

/// What a command line says.
pub(super) type Given = fn(&[String]) -> Option<Box<HostsRunArgs>>;

/// Carries it out on this rank.
pub(super) fn run(given: Given, ui: Ui) -> Outcome {
    let mpi = Mpi::start()?;
    let outcome = on(&mpi, given, ui);
    mpi.end(outcome)
}

/// How this rank ends, and whether all ranks may end the library together.
fn on(mpi: &Mpi, given: Given, ui: Ui) -> Result<(Exit, bool), Failure> {
    // Until the plan is known, the time that its default gives.
    let mut first = Crew::new(mpi, Span::from_secs(600));
    let (plan, arguments) = broadcast(&mut first, given)?;
    let mut crew = Crew::new(mpi, arguments.patience);
    let host = host_name();
    let rank = mpi.rank();
    let prepared = of_rank(&arguments.run, rank, &host).and_then(|load| {
        make_folder(&plan.folder)?;
        Ok(load)
    });
    let mut line =
        Line { crew: &mut crew, host: &host, limit: arguments.ready_within, begun: None };
    let made = prepared.and_then(|load| measured(&load, &mut line, rank));
    let begun = match (line.begun.take(), &made) {
        (Some(begun), _) => begun,
        (None, Err(failure)) => line.refuse(format!("{:#}", failure.error)),
        (None, Ok(_)) => unreachable!("a run asks its start line"),
    };
    let agreed = match begun {
        Began::At(agreed, wall) => (agreed, wall),
        Began::Refused(why) => return refused(made, &why, rank),
    };
    let own = made.map(|made| {
        made.map(|(record, tally, late)| {
            let label = arguments.run.label();
            outcome(mpi, &host, agreed, (RunRecord { label, ..record }, tally, late))
        })
    });
    let own = match own {
        Ok(Some(own)) => own,
        Ok(None) => unreachable!("the start line did not refuse"),
        // The others count it as lost.
        Err(failure) => return Err(failure),
    };
    if let Err(failure) = keep(&plan.folder, &own, ui) {
        ui.warn(&format!("rank {rank} has not kept its figures: {failure}"));
    }
    let deadline = mpi.now() + arguments.patience;
    let gathered = Gathered::of(&mut crew, &own, deadline);
    let may_finish = crew.part();
    let Some(gathered) = gathered else {
        let exit = if may_finish { Exit::Done } else { Exit::HostsLost };
        return Ok((if interrupt::requested() { Exit::Interrupted } else { exit }, may_finish));
    };
    let runs: Vec<RunRecord> = gathered.outcomes.iter().map(|it| it.host.run.clone()).collect();
    arguments.run.keep(&runs, ui);
    let exit = show(&together(gathered), ui)?;
    if exit == Exit::HostsLost {
        let folder = plan.folder.display();
        ui.note(&format!("each rank has kept its own figures: drivelab-mpi collect {folder}"));
    }
    Ok((exit, may_finish))
}

fn broadcast(crew: &mut Crew<'_, Mpi>, given: Given) -> Result<(Plan, Box<HostsRunArgs>), Failure> {
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
        Failure::cannot_here(anyhow::anyhow!("rank 0 sent no plan"))
            .hint("start all ranks with the same version of drivelab-mpi")
    })
}

/// The load of one rank: it draws addresses of its own.
fn of_rank(arguments: &RunArgs, rank: u32, host: &str) -> Result<RunPlan, Failure> {
    let name = |target: &str| target.replace("{rank}", &rank.to_string()).replace("{host}", host);
    let plan = arguments.of_rank(name)?;
    let seed = if rank == 0 { plan.seed } else { Rng::for_part(plan.seed, u64::from(rank)).bits() };
    Ok(RunPlan { seed, ..plan })
}

/// The record, the counts of all jobs, and how late the last of them began.
type MadeFrom = Option<(RunRecord, Tally, Span)>;

fn measured(load: &RunPlan, line: &mut Line<'_, '_>, rank: u32) -> Result<MadeFrom, Failure> {
    let workload = &load.workload;
    let time = Duration::from_nanos((workload.runtime + workload.ramp_time).ns());
    let progress = Progress::time(time, &load.path.display().to_string());
    let progress = if rank == 0 { progress } else { progress.silent() };
    measure::file_from(load, &|step: &Step| progress.step(step), line)
}

/// Where the jobs of this rank wait for those of all others.
struct Line<'a, 'b> {
    crew: &'a mut Crew<'b, Mpi>,
    host: &'a str,
    limit: Span,
    begun: Option<Began>,
}

/// What the ranks agreed on, with the wall clock of the start.
enum Began {
    At(Agreed, SystemTime),
    Refused(String),
}

impl Line<'_, '_> {
    fn refuse(&mut self, why: String) -> Began {
        match begin(self.crew, self.host, Some(why.clone()), self.limit) {
            Begun::Refused(why) => Began::Refused(why),
            Begun::At(_) => Began::Refused(why),
        }
    }
}

impl StartLine for Line<'_, '_> {
    fn ready(&mut self) -> Option<Instant> {
        let agreed = match begin(self.crew, self.host, None, self.limit) {
            Begun::At(agreed) => agreed,
            Begun::Refused(why) => {
                self.begun = Some(Began::Refused(why));
                return None;
            }
        };
        let (now, wall, clock) = at_once(|| self.crew.now());
        let ahead = Duration::from_nanos(agreed.start.since(clock).ns());
        self.begun = Some(Began::At(agreed, wall + ahead));
        Some(now + ahead)
    }
}

/// Attempts to read three clocks without an interruption.
const ATTEMPTS: usize = 50;

/// Three clocks at one instant. A busy machine may stop the process between two of them, for
/// milliseconds: the attempt that took the least time counts.
fn at_once(clock: impl Fn() -> Time) -> (Instant, SystemTime, Time) {
    let attempt = |_| {
        let read = (Instant::now(), SystemTime::now(), clock());
        (read.0.elapsed(), read)
    };
    let (_, read) = (0..ATTEMPTS).map(attempt).min_by_key(|(took, _)| *took).expect("some");
    read
}

/// One rank says why, the others end.
fn refused(made: Result<MadeFrom, Failure>, why: &str, rank: u32) -> Result<(Exit, bool), Failure> {
    match made {
        // Its own fault, with its own hints.
        Err(failure) => Err(failure),
        Ok(_) if rank == 0 => Err(Failure::cannot_here(anyhow::anyhow!("{why}"))
            .hint("nothing was measured: every rank must be ready")),
        Ok(_) => Ok((Exit::CannotHere, false)),
    }
}

fn outcome(
    mpi: &Mpi,
    host: &str,
    (agreed, wall): (Agreed, SystemTime),
    (run, tally, late): (RunRecord, Tally, Span),
) -> HostOutcome {
    let began = wall + Duration::from_nanos(late.ns());
    let unix = began.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let start = HostStart { late_ns: late.ns(), unix_ns: u64::try_from(unix).unwrap_or(u64::MAX) };
    let host = HostRun {
        rank: mpi.rank(),
        host: host.to_owned(),
        clock: agreed.clock,
        start,
        interrupted: interrupt::requested(),
        run,
    };
    HostOutcome { schema: HOST_SCHEMA.to_owned(), ranks: mpi.size(), host, tally }
}

/// Keeps the figures of this rank where none but itself is needed to.
fn keep(folder: &Path, own: &HostOutcome, ui: Ui) -> Result<(), Failure> {
    let path = folder.join(format!("rank-{}.json", own.host.rank));
    let text = serde_json::to_vec(own).expect("plain data is always JSON");
    Ok(write(&path, &text, &Console::new(ui))?)
}

/// The name of this host.
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
