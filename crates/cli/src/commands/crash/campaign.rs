//! All cuts of a test, several guests at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use drivelab_core::crash::{Cut, Finding};
use drivelab_lab::crash::Checked;
use drivelab_serve::store::of_outcome;

use super::test::{Test, Worked, memory};
use crate::failure::Failure;
use crate::interrupt;
use crate::ui::Progress;

/// The cuts of a test, in order of time.
#[derive(Debug)]
pub(super) struct Campaign<'a> {
    pub(super) test: &'a Test,
    pub(super) worked: &'a Worked,
    pub(super) plan: &'a [Cut],
}

/// What the guests have found so far.
struct Found {
    checked: Vec<Option<Checked>>,
    failure: Option<Failure>,
    done: usize,
    broken: usize,
}

const HELD: &str = "no thread panics while it holds the findings";

impl Campaign<'_> {
    /// Makes the cuts; what was found of each, nothing of those that were not made.
    pub(super) fn carry_out(&self) -> Result<Vec<Option<Checked>>, Failure> {
        let checked = self.plan.iter().map(|_| None).collect();
        let found = Mutex::new(Found { checked, failure: None, done: 0, broken: 0 });
        let progress = Progress::steps(self.plan.len() as u64, "cuts");
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 1..self.test.jobs.min(self.plan.len()) {
                scope.spawn(|| self.work(&next, &found, &progress));
            }
            self.work(&next, &found, &progress);
        });
        let Found { checked, failure, .. } = found.into_inner().expect(HELD);
        failure.map_or(Ok(checked), Err)
    }

    /// What one thread does: the next cut, as long as there is one. Its drive only moves forward.
    fn work(&self, next: &AtomicUsize, found: &Mutex<Found>, progress: &Progress) {
        let mut replay = self.test.replay(self.worked);
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(cut) = self.plan.get(place) else { return };
            if interrupt::requested() || found.lock().expect(HELD).failure.is_some() {
                return;
            }
            let choose = &mut *of_outcome(cut.outcome);
            let checked = replay
                .advance(cut.at)
                .map_err(memory)
                .and_then(|()| self.test.check(&replay, self.worked, cut.at, choose));
            let mut found = found.lock().expect(HELD);
            match checked {
                Ok(None) => return,
                Ok(Some(checked)) => {
                    found.done += 1;
                    found.broken += usize::from(checked.finding != Finding::Whole);
                    found.checked[place] = Some(checked);
                    let words = format!("{} broke a promise", found.broken);
                    progress.at(found.done as u64, &words);
                }
                Err(failure) => {
                    found.failure.get_or_insert(failure);
                    return;
                }
            }
        }
    }
}
