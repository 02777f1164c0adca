//! Cuts that are checked in one guest: its disk is exchanged from one to the next.

use drivelab_core::Refusal;
use drivelab_core::crash::{Cut, Finding};
use drivelab_guest::boot::{End, Observer, Reaction, RunResult};
use drivelab_guest::crash::{Mark, Numbered};
use drivelab_serve::drive::ServedDrive;

use super::replays::{Loss, Replays};
use super::test::{Test, Worked, memory};

/// Cuts in a row, and what a guest has found of them so far.
#[derive(Debug)]
pub(super) struct Batch<'a, 'r> {
    test: &'a Test,
    cuts: &'a [Cut],
    /// A drive that only moves forward.
    replay: &'a mut Replays<'r>,
    findings: Vec<Finding>,
    left_behind: Option<String>,
    failure: Option<Refusal>,
}

/// The findings of a guest.
#[derive(Debug)]
pub(super) struct Shared {
    /// Of the first cuts, one after the other.
    pub(super) findings: Vec<Finding>,
    /// Of the cut after them, if it broke the guest; one that only took too long has not.
    pub(super) end: Option<Finding>,
    /// The traces that the last check has left behind in the guest.
    pub(super) left_behind: Option<String>,
}

impl<'a, 'r> Batch<'a, 'r> {
    pub(super) fn new(test: &'a Test, cuts: &'a [Cut], replay: &'a mut Replays<'r>) -> Self {
        Self { test, cuts, replay, findings: Vec::new(), left_behind: None, failure: None }
    }

    /// Boots a guest that checks the cuts, as far as it comes.
    pub(super) fn carry_out(mut self, worked: &Worked) -> Result<Shared, Refusal> {
        let cuts = self.cuts.iter().enumerate();
        let numbered: Vec<Numbered> = cuts
            .map(|(number, cut)| Numbered { number, lines: worked.printed_before(cut.at) })
            .collect();
        let first = self.disk(0)?;
        let ended = self.test.boot_batch(worked, &numbered, first, &mut self)?;
        self.failure.take().map_or(Ok(()), Err)?;
        let end = broken_by(&ended);
        Ok(Shared { findings: self.findings, end, left_behind: self.left_behind })
    }

    /// The drive after a cut.
    fn disk(&mut self, number: usize) -> Result<ServedDrive, Refusal> {
        let Cut { at, outcome } = self.cuts[number];
        self.replay.advance(at).map_err(memory)?;
        let cut = self.replay.cut(at, Loss::Of(outcome)).map_err(memory)?;
        let medium = cut.media.into_iter().next().expect("a test has a disk");
        self.test.drive(medium)
    }
}

/// The finding for the cut that a guest did not finish, by the way the guest ended.
fn broken_by(ended: &RunResult) -> Option<Finding> {
    match ended.how {
        End::Crashed(_) | End::Deadlocked | End::UsedUp => Some(Finding::Corrupt),
        End::PoweredOff | End::Stopped | End::TimedOut => None,
    }
}

impl Observer<ServedDrive> for Batch<'_, '_> {
    fn line(&mut self, line: &str, disk: Option<&mut ServedDrive>) -> Reaction {
        let Some(mark) = Mark::parse(line) else { return Reaction::Continue };
        if mark.number != self.findings.len() {
            // Not from the script: a check printed it.
            return Reaction::Stop;
        }
        self.findings.push(mark.finding);
        self.left_behind = mark.left_behind;
        // What the check left behind could change the next one: that gets a new guest.
        let Some(disk) = disk.filter(|_| self.left_behind.is_none()) else { return Reaction::Stop };
        if self.findings.len() == self.cuts.len() {
            return Reaction::Stop;
        }
        match self.disk(self.findings.len()) {
            Ok(next) => *disk = next,
            Err(failure) => {
                self.failure = Some(failure);
                return Reaction::Stop;
            }
        }
        Reaction::Exchanged
    }
}
