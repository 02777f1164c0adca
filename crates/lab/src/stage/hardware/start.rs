//! Runs of several hosts that begin at one instant.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use drivelab_core::record::HostStart;
use drivelab_core::units::{Bytes, Time};
use drivelab_core::{Control, Refusal};
use drivelab_engine::{RunPlan, StartLine};
use drivelab_study::ranks::{Line, Measured, Member};
use drivelab_study::{PlannedRun, Work};
use rustix::time::{ClockId, clock_gettime};

use super::Hardware;
use crate::{interrupt, measure};

impl Member for Hardware {
    fn run_from(
        &mut self,
        request: PlannedRun,
        line: &mut Line<'_>,
    ) -> Result<Option<Measured>, Refusal> {
        let Work::Load(workload) = self.work(request) else {
            return Err(Refusal::request("hosts begin nothing but loads together")
                .hint("leave other workloads out: --only W,..."));
        };
        measured(&self.plan(request, *workload)?, &interrupt::silent(), line)
    }

    fn use_size(&mut self, size: Bytes) {
        Self::use_size(self, size);
    }
}

/// Performs a run that begins when `line` says.
///
/// # Errors
/// The run is refused.
pub fn measured(
    plan: &RunPlan,
    control: &Control<'_>,
    line: &mut Line<'_>,
) -> Result<Option<Measured>, Refusal> {
    let mut line = Gate { line, wall: None };
    let made = measure::file_from(plan, control, &mut line)?;
    Ok(made.zip(line.wall).map(|((record, tally, late), wall)| {
        let began = wall + Duration::from_nanos(late.ns());
        let unix = began.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let unix_ns = u64::try_from(unix).unwrap_or(u64::MAX);
        let start = HostStart { late_ns: late.ns(), unix_ns };
        Measured { record, tally, start, interrupted: interrupt::requested() }
    }))
}

/// The start line of the engine, which has a separate clock.
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
    let attempts = (0..ATTEMPTS).map(|_| {
        let read = (Instant::now(), SystemTime::now(), clock());
        (read.0.elapsed(), read)
    });
    let (_, read) = attempts.min_by_key(|(took, _)| *took).expect("some");
    read
}

/// The clock of this host.
pub fn monotonic() -> Time {
    let now = clock_gettime(ClockId::Monotonic);
    let number = |part: i64| u64::try_from(part).expect("this clock begins at 0");
    Time::from_ns(number(now.tv_sec) * 1_000_000_000 + number(now.tv_nsec))
}
