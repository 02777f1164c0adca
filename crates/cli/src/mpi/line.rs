//! Where the jobs of this rank wait for those of all others.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use drivelab_core::record::HostStart;
use drivelab_core::units::{Span, Time};
use drivelab_engine::{RunPlan, StartLine};
use drivelab_load::Progress;
use drivelab_study::ranks::{Line, Measured, Terms};

use super::ranks::monotonic;
use drivelab_core::Refusal;
use drivelab_lab::{interrupt, measure};

/// How long ranks wait for one another.
#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    /// How long the slowest rank may take to open or lay out its target, or to put an arm in place.
    #[arg(long, help_heading = "Hosts", value_name = "TIME", default_value = "10m")]
    ready_within: Span,
    /// How long rank 0 waits for a rank after the end of the load, before it counts as lost.
    #[arg(long, help_heading = "Hosts", value_name = "TIME", default_value = "30s")]
    pub(super) patience: Span,
}

impl WaitArgs {
    /// The same with the name of this host.
    pub(super) fn terms(&self) -> Terms {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Terms { host, ready_within: self.ready_within, patience: self.patience }
    }
}

/// A name with the placeholders that each rank fills in for itself.
pub(super) fn of_rank(name: &str, rank: u32, host: &str) -> String {
    name.replace("{rank}", &rank.to_string()).replace("{host}", host)
}

/// A command of an arm, likewise; what is filled in is quoted for the shell.
pub(super) fn command_of_rank(command: &str, rank: u32, host: &str) -> Result<String, Refusal> {
    let number = rank.to_string();
    let values = [("rank", number.as_str()), ("host", host)];
    Ok(drivelab_study::command::substitute(command, &values)?)
}

/// Makes a run that begins when `line` says.
pub(super) fn measured(
    plan: &RunPlan,
    progress: &(dyn Fn(&Progress) + Sync),
    line: &mut Line<'_>,
) -> Result<Option<Measured>, Refusal> {
    let mut line = Gate { line, wall: None };
    let made = measure::file_from(plan, progress, &mut line)?;
    Ok(made.zip(line.wall).map(|((record, tally, late), wall)| {
        let began = wall + Duration::from_nanos(late.ns());
        let unix = began.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let unix_ns = u64::try_from(unix).unwrap_or(u64::MAX);
        let start = HostStart { late_ns: late.ns(), unix_ns };
        Measured { record, tally, start, interrupted: interrupt::requested() }
    }))
}

/// The start line of the engine, which has a clock of its own.
struct Gate<'a, 'b> {
    line: &'a mut Line<'b>,
    /// The wall clock at the common start.
    wall: Option<SystemTime>,
}

impl StartLine for Gate<'_, '_> {
    fn ready(&mut self) -> Option<Instant> {
        let agreed = (self.line)()?;
        let (now, wall, clock) = at_once(monotonic);
        let ahead = Duration::from_nanos(agreed.start.since(clock).ns());
        self.wall = Some(wall + ahead);
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
