//! Shared state of the jobs of a run.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use drivelab_core::control::{Control, Event, Phase, Progress};
use drivelab_core::record::Tally;
use drivelab_core::units::Span;
use drivelab_core::usage::{Census, DeviceNumber};
use drivelab_load::{Flows, Watch};

use super::gate::Gate;
use super::process::{process_cpu, waited};
use crate::conditions::CounterLog;
use crate::file::{Clock, FileLocks};

/// The state of a run that every job sees.
pub(super) struct RunState<'a> {
    pub(super) control: &'a Control<'a>,
    pub(super) census: &'a dyn Census,
    pub(super) clock: Clock,
    pub(super) gate: Gate,
    /// A job has failed, and the others may stop.
    pub(super) failed: AtomicBool,
    /// A job that ends the others has finished.
    pub(super) over: AtomicBool,
    /// Requests, bytes and errors of all jobs, as far as reported.
    pub(super) counts: [AtomicU64; 3],
    /// Nanoseconds of processor time when the first job began to measure, and when the last ended.
    pub(super) cpu_begin: AtomicU64,
    pub(super) cpu_end: AtomicU64,
    /// Nanoseconds that jobs waited for a processor during their measurement.
    pub(super) waited: AtomicU64,
    pub(super) counters: Mutex<CounterLog>,
    /// The rates that jobs share.
    pub(super) flows: Flows,
    /// The locks of their files.
    pub(super) locks: FileLocks,
}

impl<'a> RunState<'a> {
    pub(super) fn new(
        control: &'a Control<'a>,
        census: &'a dyn Census,
        jobs: u32,
        groups: usize,
        flows: Flows,
        locks: FileLocks,
    ) -> Self {
        Self {
            control,
            census,
            clock: Clock::start(),
            gate: Gate::new(jobs),
            failed: AtomicBool::new(false),
            over: AtomicBool::new(false),
            counts: [const { AtomicU64::new(0) }; 3],
            // The neutral values of `fetch_min` and `fetch_max`.
            cpu_begin: AtomicU64::new(u64::MAX),
            cpu_end: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            counters: Mutex::new(CounterLog::new(groups)),
            flows,
            locks,
        }
    }
}

/// One job's part in the progress that all jobs report.
pub(super) struct JobWatch<'a> {
    pub(super) shared: &'a RunState<'a>,
    pub(super) thread: u32,
    pub(super) group: usize,
    pub(super) device: Option<DeviceNumber>,
    /// Its contribution to [`RunState::counts`].
    pub(super) told: [u64; 3],
    /// The last question for its counts that it answered.
    pub(super) answered: u64,
    /// The time that it had waited for a processor when it began to measure.
    pub(super) waited: Span,
}

impl JobWatch<'_> {
    fn note(&self, begins: bool) {
        let mut counters = self.shared.counters.lock();
        let counters = counters.as_mut().expect("no job panics while it holds the lock");
        counters.note(self.shared.census, self.group, self.device, begins);
    }
}

impl Watch for JobWatch<'_> {
    #[inline]
    fn stop(&mut self) -> bool {
        self.shared.control.stopped()
            || self.shared.failed.load(Ordering::Relaxed)
            || self.shared.over.load(Ordering::Relaxed)
    }

    fn enter(&mut self, phase: Phase) {
        let so_far = waited();
        if phase == Phase::Drain {
            let waited = so_far.saturating_sub(self.waited).ns();
            self.shared.waited.fetch_add(waited, Ordering::Relaxed);
        }
        self.waited = so_far;
        // Reading the counters is not part of the run.
        match phase {
            Phase::Measure => {
                self.note(true);
                self.shared.cpu_begin.fetch_min(process_cpu().ns(), Ordering::Relaxed);
            }
            Phase::Drain => {
                self.shared.cpu_end.fetch_max(process_cpu().ns(), Ordering::Relaxed);
                self.note(false);
            }
            Phase::LayOut | Phase::Ramp => {}
        }
    }

    fn restart(&mut self) {
        self.waited = waited();
        // Of several jobs the last one counts: the processor time of all is known, and not of each.
        self.shared.cpu_begin.store(process_cpu().ns(), Ordering::Relaxed);
    }

    fn question(&self) -> Option<u64> {
        let asked = self.shared.control.snapshots()?.asked();
        (asked > self.answered).then_some(asked)
    }

    fn answer(&mut self, question: u64, tally: Tally) {
        self.answered = question;
        if let Some(snapshots) = self.shared.control.snapshots() {
            snapshots.answer(self.thread as usize, question, tally);
        }
    }

    fn tick(&mut self, progress: &Progress) {
        let counts = [progress.ios, progress.bytes, progress.errors];
        for ((count, told), all) in counts.iter().zip(&mut self.told).zip(&self.shared.counts) {
            debug_assert!(count >= told, "a job's counts only grow");
            all.fetch_add(count - *told, Ordering::Relaxed);
            *told = *count;
        }
        // One job reports the sums of all, or they would be shown once a job.
        if self.thread == 0 {
            let [ios, bytes, errors] = &self.shared.counts;
            let (ios, bytes) = (ios.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed));
            let errors = errors.load(Ordering::Relaxed);
            let progress = Progress { ios, bytes, errors, ..*progress };
            self.shared.control.report(Event::Load(progress));
        }
    }
}
