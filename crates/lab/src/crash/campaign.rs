//! All cuts of a test, several guests at once.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use drivelab_core::Refusal;
use drivelab_core::control::{Control, Event};
use drivelab_core::crash::{Cut, Finding};
use drivelab_guest::crash::{CheckOutcome, CheckResult};
use drivelab_report::crash::Disagreement;

use super::batch::Batch;
use super::replays::{Loss, Replays};
use super::test::{Test, Worked, memory};
use crate::interrupt;

/// One of this many cuts is always checked in a separate guest as well.
const CONTROL_EVERY: usize = 50;

/// The cuts of a test, in order of time.
#[derive(Debug)]
pub struct Campaign<'a> {
    /// The test.
    pub test: &'a Test,
    /// The recorded workload.
    pub worked: &'a Worked,
    /// The cuts, in order of time.
    pub plan: &'a [Cut],
    /// The number of cuts that share a guest.
    pub per_guest: usize,
}

/// The findings of all guests so far.
#[derive(Debug, Default)]
pub struct Found {
    /// Of each cut of the plan; nothing of those that were not made.
    pub checked: Vec<Option<CheckResult>>,
    /// Cuts whose check did not end in time.
    pub too_slow: Vec<Cut>,
    /// Cuts that were checked in a shared guest and in a separate one.
    pub twice: usize,
    /// Cuts with different findings in the two guests.
    pub disagreements: Vec<Disagreement>,
    /// Cuts of which a shared guest found something that was not confirmed before the end.
    pub unconfirmed: usize,
    /// The traces that checks leave behind in a guest, so that it cannot be shared.
    pub left_behind: Option<String>,
    failure: Option<Refusal>,
    done: usize,
    broken: usize,
}

const HELD: &str = "no thread panics while it holds the findings";

impl Campaign<'_> {
    /// Makes the cuts; `control` receives how many are done, and a word on them.
    ///
    /// # Errors
    /// A guest cannot be had, or the memory for its disk.
    pub fn carry_out(&self, control: &Control<'_>) -> Result<Found, Refusal> {
        let checked = self.plan.iter().map(|_| None).collect();
        let found = Mutex::new(Found { checked, ..Found::default() });
        let next = AtomicUsize::new(0);
        let jobs = self.test.jobs.min(self.plan.len());
        // No batch is larger than a thread's share, so that none is idle while another has work.
        let size = self.per_guest.min(self.plan.len().div_ceil(jobs.max(1)));
        let work = || Worker::new(self, &found, control).work(&next, size);
        thread::scope(|scope| {
            // This thread works, too.
            for _ in 1..jobs {
                scope.spawn(work);
            }
            work();
        });
        let mut found = found.into_inner().expect(HELD);
        // Threads end in any order, and the report must not depend on it.
        found.disagreements.sort_by_key(|it| it.cut);
        found.too_slow.sort_unstable();
        found.failure.take().map_or(Ok(found), Err)
    }
}

/// One thread of a campaign. Its drives only move forward.
struct Worker<'a> {
    campaign: &'a Campaign<'a>,
    found: &'a Mutex<Found>,
    control: &'a Control<'a>,
    /// For guests of several cuts.
    shared: Replays<'a>,
    /// For guests of one cut.
    alone: Replays<'a>,
}

impl<'a> Worker<'a> {
    fn new(campaign: &'a Campaign<'a>, found: &'a Mutex<Found>, control: &'a Control<'a>) -> Self {
        let Campaign { test, worked, .. } = campaign;
        let (shared, alone) = (test.replay(worked), test.replay(worked));
        Self { campaign, found, control, shared, alone }
    }

    /// Takes the next `size` cuts, as long as there are any.
    fn work(mut self, next: &AtomicUsize, size: usize) {
        loop {
            let begin = next.fetch_add(size, Ordering::Relaxed);
            let end = self.campaign.plan.len().min(begin + size);
            if begin >= end || self.must_stop() {
                return;
            }
            if let Err(failure) = self.batch(begin..end) {
                // The first is reported: the others may follow from it.
                self.found.lock().expect(HELD).failure.get_or_insert(failure);
                return;
            }
        }
    }

    fn must_stop(&self) -> bool {
        interrupt::requested() || self.found.lock().expect(HELD).failure.is_some()
    }

    /// Checks cuts in as few guests as it takes: one that ends before its time is followed by one
    /// for the cut that ended it, and one for the rest.
    fn batch(&mut self, indices: Range<usize>) -> Result<(), Refusal> {
        let Campaign { test, worked, plan, .. } = self.campaign;
        let mut rest = indices;
        while !rest.is_empty() && !self.must_stop() {
            // A single cut needs no shared guest.
            if rest.len() == 1 {
                return self.judge(rest.start, None);
            }
            let batch = Batch::new(test, &plan[rest.clone()], &mut self.shared);
            let shared = batch.carry_out(worked)?;
            for finding in &shared.findings {
                self.judge(rest.start, Some(*finding))?;
                rest.start += 1;
            }
            if shared.left_behind.is_some() {
                // The rest gets a new guest: traces of one check could change the next one.
                self.found.lock().expect(HELD).left_behind = shared.left_behind;
            } else if !rest.is_empty() && !self.must_stop() {
                self.judge(rest.start, shared.end)?;
                rest.start += 1;
            }
        }
        Ok(())
    }

    /// Notes what was found of a cut. What a shared guest found counts only where everything is
    /// whole; for anything else, a separate guest decides, which `--replay` repeats.
    fn judge(&mut self, index: usize, shared: Option<Finding>) -> Result<(), Refusal> {
        if shared == Some(Finding::Whole) && !is_control(index, self.campaign.plan.len()) {
            let whole = CheckResult { finding: Finding::Whole, reason: String::new() };
            self.note(index, None, whole);
            return Ok(());
        }
        let Campaign { test, worked, plan, .. } = self.campaign;
        let Cut { at, outcome } = plan[index];
        let look = if interrupt::requested() {
            CheckOutcome::Stopped
        } else {
            self.alone.advance(at).map_err(memory)?;
            test.check(&self.alone, worked, at, Loss::Of(outcome))?
        };
        if let CheckOutcome::Found(checked) = look {
            self.note(index, shared, checked);
            return Ok(());
        }
        let mut found = self.found.lock().expect(HELD);
        if look == CheckOutcome::TooSlow {
            found.too_slow.push(plan[index]);
        }
        let is_broken = shared.is_some_and(|finding| finding != Finding::Whole);
        found.unconfirmed += usize::from(is_broken);
        Ok(())
    }

    /// Notes a finding, and that of the `shared` guest where there was one, too.
    fn note(&self, index: usize, shared: Option<Finding>, checked: CheckResult) {
        let mut found = self.found.lock().expect(HELD);
        if let Some(shared) = shared {
            let (cut, alone) = (self.campaign.plan[index], checked.finding);
            found.twice += 1;
            found.disagreements.extend(Disagreement::between(cut, shared, alone));
        }
        found.done += 1;
        found.broken += usize::from(checked.finding != Finding::Whole);
        found.checked[index] = Some(checked);
        let words = format!("{} broke a promise", found.broken);
        self.control.report(Event::Begins { run: &words, done: found.done as u64 });
    }
}

/// True if a cut is always checked in a separate guest: the same cuts of a plan regardless of
/// which cuts share a guest.
fn is_control(index: usize, of: usize) -> bool {
    (index + 1).is_multiple_of(CONTROL_EVERY) || index + 1 == of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_fifty_cuts_and_the_last_are_checked_twice() {
        let controls = |of| (0..of).filter(|place| is_control(*place, of)).collect::<Vec<_>>();
        assert_eq!(controls(7), [6]);
        assert_eq!(controls(100), [49, 99]);
        assert_eq!(controls(120), [49, 99, 119]);
    }
}
