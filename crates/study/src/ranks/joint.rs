//! One run on this rank, together with all others.

use std::fmt::Display;

use drivelab_core::record::{HOST_SCHEMA, HostOutcome, HostRun, HostStart, RunRecord, Tally};
use drivelab_core::units::Span;

use super::{Agreed, Begun, Crew, Ranks, begin};

/// The agreement of ranks before they measure.
#[derive(Debug, Clone)]
pub struct Terms {
    /// The name of this host.
    pub host: String,
    /// Time limit for the slowest rank to get ready.
    pub ready_within: Span,
    /// Time limit for a rank after rank 0's own load has ended.
    pub patience: Span,
}

/// The start line: asked once by a run that is ready, it returns the common start, or `None` where
/// the run must not begin.
pub type Line<'a> = dyn FnMut() -> Option<Agreed> + 'a;

/// The result of a run on one rank.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Its record.
    pub record: RunRecord,
    /// The counts of all its jobs.
    pub tally: Tally,
    /// Its start.
    pub start: HostStart,
    /// True if it was cut short.
    pub interrupted: bool,
}

/// The outcome of a run on this rank.
#[derive(Debug)]
pub enum Own<E> {
    /// It ended.
    Made(Box<HostOutcome>),
    /// It began, and failed.
    Failed(E),
    /// No rank began, and this one is at fault.
    Unable(E),
    /// No rank began, for this reason, in words of the one at fault.
    Refused(String),
}

/// Makes a run on this rank that begins with those of all others. `run` makes nothing where its
/// line refuses, and does not ask it where it cannot begin here.
///
/// # Panics
/// If `run` does otherwise.
pub fn make<R: Ranks, E: Display>(
    crew: &mut Crew<'_, R>,
    terms: &Terms,
    run: impl FnOnce(&mut Line<'_>) -> Result<Option<Measured>, E>,
) -> Own<E> {
    let (rank, ranks) = (crew.rank(), crew.size());
    // Remembered, because `run` may fail before or after it has asked its line.
    let mut begun = None;
    let mut line = || {
        let word = begin(crew, &terms.host, None, terms.ready_within);
        let agreed = match &word {
            Begun::At(agreed) => Some(*agreed),
            Begun::Refused(_) => None,
        };
        begun = Some(word);
        agreed
    };
    let made = run(&mut line);
    match (begun, made) {
        (Some(Begun::At(agreed)), Ok(Some(made))) => {
            let Measured { record: run, tally, start, interrupted } = made;
            let (host, clock) = (terms.host.clone(), agreed.clock);
            let host = HostRun { rank, host, clock, start, interrupted, run };
            Own::Made(Box::new(HostOutcome { schema: HOST_SCHEMA.to_owned(), ranks, host, tally }))
        }
        (Some(Begun::At(_)), Err(failure)) => Own::Failed(failure),
        (Some(Begun::At(_)), Ok(None)) => unreachable!("a run begins where its line says so"),
        (Some(Begun::Refused(why)), _) => Own::Refused(why),
        (None, Err(failure)) => {
            // The others wait for this one.
            begin(crew, &terms.host, Some(format!("{failure:#}")), terms.ready_within);
            Own::Unable(failure)
        }
        (None, Ok(_)) => unreachable!("a run asks its line"),
    }
}
