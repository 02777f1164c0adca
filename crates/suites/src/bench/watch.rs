//! The steps of a phase: each is timed and counted, and ends the phase if the user asked to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use drivelab_core::control::{Control, Event};
use drivelab_core::{Histogram, Span};
use rustix::time::ClockId;

use super::halt::{Done, Halt};
use super::threads;

/// Ends a suite that the user asked to stop.
pub(crate) fn check(control: Control<'_>) -> Done {
    if control.stopped() { Err(Halt::Interrupted) } else { Ok(()) }
}

/// Time between two views of the progress: short enough that it is seen to move.
const SHOWN_EVERY: Duration = Duration::from_millis(100);
/// A thread adds its steps to those of the phase in lots, so that threads do not wait for one
/// another's cache line.
const LOT: u64 = 32;

/// A phase under way, shared by its threads.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    control: Control<'a>,
    phase: &'a str,
    of: u64,
    done: AtomicU64,
    /// A thread failed, so the others end.
    failed: AtomicBool,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(control: Control<'a>, phase: &'a str, of: u64) -> Self {
        let watch =
            Self { control, phase, of, done: AtomicU64::new(0), failed: AtomicBool::new(false) };
        watch.show();
        watch
    }

    fn show(&self) {
        // A phase that only the clock ends has no number of steps.
        let done = self.done.load(Ordering::Relaxed).min(self.of);
        self.control.report(Event::Steps { what: self.phase, done, of: self.of });
    }

    /// Ends a thread that the user asked to stop, or another of which failed.
    pub(crate) fn check(&self) -> Done {
        // The thread that failed reports why.
        if self.failed.load(Ordering::Relaxed) {
            return Err(Halt::Interrupted);
        }
        check(self.control)
    }

    /// The steps of one thread.
    pub(crate) fn laps(&self) -> Laps<'_> {
        Laps { watch: self, lat: Histogram::new(), lot: 0, shown: Instant::now() }
    }

    /// Does the work in several threads, each with its number and its own laps, and returns the
    /// latencies of each.
    pub(crate) fn threads(
        &self,
        count: u32,
        work: impl Fn(u32, &mut Laps<'_>) -> Done + Sync,
    ) -> Done<Vec<Histogram>> {
        let results = threads::in_order(
            count,
            || self.laps(),
            |number, mut laps| {
                let done = work(number, &mut laps);
                if done.is_err() {
                    self.failed.store(true, Ordering::Relaxed);
                }
                done.map(|()| laps.finish())
            },
        );
        // The reason first, and not that it ended the others.
        let (reasons, others): (Vec<_>, Vec<_>) =
            results.into_iter().partition(|result| matches!(result, Err(Halt::Refused(_))));
        reasons.into_iter().chain(others).collect()
    }
}

/// The latencies of several threads together.
pub(crate) fn merged(parts: &[Histogram]) -> Histogram {
    let mut all = Histogram::empty();
    for part in parts {
        all.merge(part);
    }
    all
}

/// The steps of one thread.
#[derive(Debug)]
pub(crate) struct Laps<'a> {
    watch: &'a Watch<'a>,
    lat: Histogram,
    lot: u64,
    shown: Instant,
}

impl<'a> Laps<'a> {
    /// Returns the control, which a step that may take long checks while it works.
    pub(crate) fn control(&self) -> Control<'a> {
        self.watch.control
    }

    /// Does and times one step.
    pub(crate) fn time<T>(&mut self, work: impl FnOnce() -> Done<T>) -> Done<T> {
        self.watch.check()?;
        let begin = Instant::now();
        let done = work()?;
        let end = Instant::now();
        // A step that failed has no latency: the phase ends with it.
        self.lat.record(span(end.duration_since(begin)));
        self.lot += 1;
        debug_assert!(self.lot <= LOT, "{}", self.lot);
        if self.lot == LOT {
            self.watch.done.fetch_add(self.lot, Ordering::Relaxed);
            self.lot = 0;
        }
        if end.duration_since(self.shown) > SHOWN_EVERY {
            self.shown = end;
            self.watch.show();
        }
        Ok(done)
    }

    /// Ends a thread that the user asked to stop, or another of which failed.
    pub(crate) fn check(&self) -> Done {
        self.watch.check()
    }

    pub(crate) fn finish(self) -> Histogram {
        self.lat
    }
}

/// Wall and processor time of a stretch of work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Took {
    pub(crate) wall: Span,
    /// Of all threads of this process.
    pub(crate) cpu: Span,
}

/// Measures a stretch of work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch {
    begin: Instant,
    cpu: Span,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        // The clock of the wall last, so that reading the other is no part of the work.
        Self { cpu: process_cpu(), begin: Instant::now() }
    }

    pub(crate) fn stop(self) -> Took {
        let wall = span(self.begin.elapsed());
        Took { wall, cpu: process_cpu().saturating_sub(self.cpu) }
    }
}

fn span(time: Duration) -> Span {
    Span::from_ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn process_cpu() -> Span {
    let time = rustix::time::clock_gettime(ClockId::ProcessCPUTime);
    let [seconds, rest] = [time.tv_sec, time.tv_nsec].map(|it| u64::try_from(it).unwrap_or(0));
    Span::from_secs(seconds) + Span::from_ns(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivelab_core::Refusal;

    #[test]
    fn threads_add_up_and_the_reason_of_a_failure_wins() {
        let stop = AtomicBool::new(false);
        let control = Control::silent(&stop);
        let watch = Watch::new(control, "phase", 400);
        let lat = watch.threads(4, |_, laps| (0..100).try_for_each(|_| laps.time(|| Ok(()))));
        assert_eq!(merged(&lat.unwrap()).n(), 400);
        let failing = watch.threads(4, |number, laps| {
            loop {
                if number == 2 {
                    return Err(Refusal::machine("full").into());
                }
                laps.time(|| Ok(()))?;
            }
        });
        assert!(matches!(failing, Err(Halt::Refused(refusal)) if refusal.message == "full"));
        stop.store(true, Ordering::Relaxed);
        let watch = Watch::new(control, "phase", 1);
        assert!(matches!(watch.laps().time(|| Ok(())), Err(Halt::Interrupted)));
    }
}
