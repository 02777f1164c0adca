//! Whole reports of `fio --status-interval` while jobs run.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use drivelab_core::control::Snapshots;
use drivelab_core::record::Tally;

/// A job that does not answer within this time is in a request: its last counts are shown.
const PATIENCE: Duration = Duration::from_millis(400);
/// The interval between two looks for an answer or the end.
const LOOK: Duration = Duration::from_millis(5);

/// Reports the counts of running jobs until it is dropped.
#[derive(Debug)]
pub(super) struct Status {
    every: Duration,
    snapshots: Snapshots,
    over: AtomicBool,
}

impl Status {
    /// A report of `jobs` jobs in each interval.
    pub(super) fn new(every: Duration, jobs: usize) -> Self {
        let every = every.max(LOOK);
        Self { every, snapshots: Snapshots::of(jobs), over: AtomicBool::new(false) }
    }

    /// Does `work`, whose jobs answer the questions, and meanwhile reports. An interval begins at
    /// the end of the last one, not when its report was complete.
    pub(super) fn during<T>(
        &self,
        work: impl FnOnce(&Snapshots) -> T,
        report: impl Fn(Vec<Tally>) + Sync,
    ) -> T {
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut due = Instant::now() + self.every;
                while self.waited(due) {
                    self.snapshots.ask();
                    // The result follows the last answer of all.
                    if self.answered() && !self.over.load(Ordering::Relaxed) {
                        report(self.snapshots.tallies());
                    }
                    due += self.every;
                }
            });
            let ends = Over(&self.over);
            let done = work(&self.snapshots);
            drop(ends);
            done
        })
    }

    /// Waits until `due`; returns false at the end of the work.
    fn waited(&self, due: Instant) -> bool {
        loop {
            if self.over.load(Ordering::Relaxed) {
                return false;
            }
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            thread::sleep(left.min(LOOK));
        }
    }

    /// Waits for the answers; returns false if the work ended before any of them.
    fn answered(&self) -> bool {
        let until = Instant::now() + PATIENCE;
        while self.snapshots.missing() > 0 && Instant::now() < until {
            if !self.waited(Instant::now() + LOOK) {
                return false;
            }
        }
        true
    }
}

/// Ends the reports, also where the work panics.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The reports of a call so far, one after the other.
#[derive(Debug)]
pub(super) struct Reports(Mutex<String>);

const HELD: &str = "no thread panics while it holds the reports";

impl Reports {
    /// Reports that follow a text.
    pub(super) fn following(text: String) -> Self {
        Self(Mutex::new(text))
    }

    /// A report, with the text that only the first one follows.
    pub(super) fn next(&self, report: &str) -> String {
        std::mem::take(&mut *self.0.lock().expect(HELD)) + report
    }

    /// All reports so far and this one.
    pub(super) fn all_with(&self, report: &str) -> String {
        let mut all = self.0.lock().expect(HELD);
        all.push_str(report);
        if !all.ends_with('\n') {
            all.push('\n');
        }
        all.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_come_while_the_work_goes_on_and_have_the_answers() {
        let status = Status::new(Duration::from_millis(1), 1);
        let reports: Mutex<Vec<u64>> = Mutex::default();
        let done = status.during(
            |snapshots| {
                while reports.lock().unwrap().len() < 3 {
                    let question = snapshots.asked();
                    let tally = Tally { errors: question, ..Tally::default() };
                    snapshots.answer(0, question, tally);
                    thread::yield_now();
                }
                "done"
            },
            |tallies| reports.lock().unwrap().push(tallies[0].errors),
        );
        let reports = reports.into_inner().unwrap();
        assert_eq!((done, reports.is_sorted()), ("done", true), "{reports:?}");
        assert!(reports[0] > 0, "{reports:?}");
    }

    #[test]
    fn a_text_precedes_the_first_report_only_and_a_file_has_all() {
        let reports = Reports::following("a: ...\n".to_owned());
        assert_eq!((&*reports.next("1"), &*reports.next("2")), ("a: ...\n1", "2"));
        let reports = Reports::following(String::new());
        assert_eq!(reports.all_with("{1}"), "{1}\n");
        assert_eq!(reports.all_with("{2}\n"), "{1}\n{2}\n");
    }

    #[test]
    fn nothing_is_reported_of_work_that_ends_at_once() {
        let status = Status::new(Duration::from_secs(3600), 1);
        status.during(|_| (), |_| panic!("its interval was not over"));
    }
}
