//! A suite of block tests as data: loads in sequence, and the figures reported of each.
//!
//! Nothing here runs a load: [`Recipe::carry_out`] has its caller run them, and makes phases of the
//! caller's counts. So one recipe serves a modelled drive in virtual time, a file and a device.

pub mod embedded;
mod figures;
mod points;
mod read;
mod test;

pub use read::Adjust;
pub use test::{LoadCounts, LoadTarget, Part, Reports, Test};

use figures::PointCounts;
use serde::{Deserialize, Serialize};

use crate::JobSchedule;
use crate::config::ConfigError;
use crate::record::{Mark, MarkId, Phase};
use crate::rng::Rng;
use crate::units::{Bytes, Span};
use crate::workload::Workload;

/// A suite of block tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    /// Its description, in one sentence.
    pub title: String,
    /// Its tests, in order.
    pub tests: Vec<Test>,
    /// Idle time before each test but the first.
    pub pause: Span,
}

/// The result of a recipe.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// A phase for each finished test.
    pub phases: Vec<Phase>,
    /// Marks that apply to all of them.
    pub marks: Vec<Mark>,
    /// True if every test was finished.
    pub is_whole: bool,
}

impl Recipe {
    /// Reads the recipe in `text`; `file` is its name in messages.
    ///
    /// # Errors
    /// The error, its line, and the text to write instead.
    pub fn parse(file: &str, text: &str, adjust: &Adjust) -> Result<Self, ConfigError> {
        let read::Content { title, tests, pause } = read::recipe(file, text, adjust)?;
        Ok(Self { title, tests, pause })
    }

    /// Carries out the recipe on `target`. `run` makes one load; it returns `None` if the
    /// user stopped it.
    ///
    /// # Errors
    /// A load could not be made.
    pub fn carry_out<E>(&self, target: LoadTarget, run: &mut Loads<'_, E>) -> Result<Outcome, E> {
        let (mut phases, mut marks) = (Vec::new(), Vec::new());
        for (number, test) in (0_u64..).zip(&self.tests) {
            let seed = Rng::for_part(target.seed, number).bits();
            let pause = if number == 0 { Span::ZERO } else { self.pause };
            let Some(rounds) = rounds(test, LoadTarget { seed, ..target }, pause, run)? else {
                return Ok(Outcome { phases, marks, is_whole: false });
            };
            phases.push(figures::phase(test, &rounds));
            keep_marks(&mut marks, &rounds);
        }
        marks.extend(self.one_at_a_time());
        Ok(Outcome { phases, marks, is_whole: true })
    }

    /// The names of its metrics, without those of latencies and of single runs.
    pub fn metrics(&self) -> Vec<String> {
        self.tests.iter().flat_map(figures::metrics).collect()
    }

    /// Duration of the recipe, if its runs end by time.
    pub fn time(&self) -> Span {
        let pauses = Span::from_ns(self.pause.ns() * self.tests.len().saturating_sub(1) as u64);
        self.tests.iter().fold(pauses, |sum, test| sum + test.time())
    }

    /// The workloads of its tests.
    pub fn workloads(&self) -> impl Iterator<Item = &Workload> {
        self.tests.iter().map(|test| &test.workload)
    }

    /// True if any test writes.
    pub fn writes(&self) -> bool {
        self.tests.iter().any(|test| test.workload.rw.writes())
    }

    /// The end of the region that its tests use, if they state one.
    pub fn end(&self) -> Option<Bytes> {
        self.tests.iter().filter_map(Test::end).max()
    }

    /// The mark of a suite that has one request outstanding: some effects cannot show.
    fn one_at_a_time(&self) -> Option<Mark> {
        let message = "every request waits for the one before it (queue depth 1), so the drive \
                       never has two to choose from: this suite cannot show what command queuing \
                       (AHCI with NCQ against IDE) does";
        let mark = Mark { id: MarkId::OneAtATime, message: message.into() };
        // Depth 1 leaves the drive no choice, however long the suite is.
        self.tests.iter().all(Test::is_one_at_a_time).then_some(mark)
    }
}

/// Makes one load of a test; returns `None` if the user stopped it.
pub type Loads<'a, E> = dyn FnMut(&Test, &Part) -> Result<Option<LoadCounts>, E> + 'a;

/// The counted runs, each with one load or one for each point; `None` if the user stopped it.
fn rounds<E>(
    test: &Test,
    target: LoadTarget,
    pause: Span,
    run: &mut Loads<'_, E>,
) -> Result<Option<Vec<Vec<PointCounts>>>, E> {
    let mut rounds = Vec::new();
    let mut start_delay = pause;
    for round in 0..test.warm_up + test.loops {
        let seed = Rng::for_part(target.seed, u64::from(round)).bits();
        let mut points = Vec::new();
        for (offset, workload, seed) in points::loads(test, LoadTarget { seed, ..target }) {
            let end_fsync = test.end_fsync && workload.rw.writes();
            let schedule = JobSchedule { start_delay, end_fsync, ..JobSchedule::default() };
            let part = Part { workload, numjobs: test.numjobs, schedule, seed };
            // The pause is before the test, not before each of its points.
            start_delay = Span::ZERO;
            let Some(counts) = run(test, &part)? else { return Ok(None) };
            points.push(PointCounts { offset, counts });
        }
        if round >= test.warm_up {
            rounds.push(points);
        }
    }
    Ok(Some(rounds))
}

/// Keeps the marks of a whole run, once; the nature of a figure belongs to its phase.
fn keep_marks(marks: &mut Vec<Mark>, rounds: &[Vec<PointCounts>]) {
    for mark in rounds.iter().flatten().flat_map(|point| &point.counts.marks) {
        let known = marks.iter().any(|known| known.id == mark.id);
        // A nature is a remark of its phase, and a short tail is seen in the phase's own figures.
        if !known && mark.id.nature().is_none() && mark.id != MarkId::FewRequests {
            marks.push(mark.clone());
        }
    }
}

#[cfg(test)]
mod tests;
