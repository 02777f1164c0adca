//! Counts of running jobs, for a reader that asks for them now and then.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::record::Tally;

/// The latest counts of each job. A reader asks, and each job hands its counts over when it next
/// reports its progress; a job whose counts were not asked for copies nothing.
#[derive(Debug)]
pub struct Snapshots {
    asked: AtomicU64,
    jobs: Mutex<Vec<Snapshot>>,
}

#[derive(Debug, Clone, Default)]
struct Snapshot {
    /// The question that it answers.
    answers: u64,
    tally: Tally,
}

const HELD: &str = "no code panics while it holds the lock";

impl Snapshots {
    /// Snapshots of this many jobs, without counts yet.
    pub fn of(jobs: usize) -> Self {
        Self { asked: AtomicU64::new(0), jobs: Mutex::new(vec![Snapshot::default(); jobs]) }
    }

    /// Asks every job for its counts.
    pub fn ask(&self) {
        // The number guards no other memory, so no order is needed.
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of the last question; 0 if there was none.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Hands over the counts of a job, in answer to a question.
    pub fn answer(&self, job: usize, question: u64, tally: Tally) {
        let mut jobs = self.jobs.lock().expect(HELD);
        debug_assert!(job < jobs.len(), "a job has an entry");
        if let Some(entry) = jobs.get_mut(job).filter(|entry| entry.answers <= question) {
            *entry = Snapshot { answers: question, tally };
        }
    }

    /// Hands over the counts of a job that has ended: they answer any question.
    pub fn end(&self, job: usize, tally: Tally) {
        self.answer(job, u64::MAX, tally);
    }

    /// The number of jobs that have not answered the last question.
    pub fn missing(&self) -> usize {
        let question = self.asked();
        self.jobs.lock().expect(HELD).iter().filter(|entry| entry.answers < question).count()
    }

    /// The latest counts of each job.
    pub fn tallies(&self) -> Vec<Tally> {
        self.jobs.lock().expect(HELD).iter().map(|entry| entry.tally.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_errors(errors: u64) -> Tally {
        Tally { errors, ..Tally::default() }
    }

    fn errors(snapshots: &Snapshots) -> Vec<u64> {
        snapshots.tallies().iter().map(|tally| tally.errors).collect()
    }

    #[test]
    fn each_question_has_an_answer_of_each_job() {
        let snapshots = Snapshots::of(2);
        assert_eq!((snapshots.asked(), snapshots.missing()), (0, 0));
        snapshots.ask();
        assert_eq!(snapshots.missing(), 2);
        snapshots.answer(1, 1, of_errors(5));
        assert_eq!(snapshots.missing(), 1);
        snapshots.end(0, of_errors(3));
        assert_eq!((snapshots.missing(), errors(&snapshots)), (0, vec![3, 5]));
        snapshots.ask();
        assert_eq!(snapshots.missing(), 1, "a job that has ended answers any question");
        snapshots.answer(0, 2, of_errors(9));
        assert_eq!(errors(&snapshots), [3, 5], "its counts are final");
    }
}
