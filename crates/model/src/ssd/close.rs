//! The closing of begun pages, and the commits of what is in them.

use drivelab_core::{ServedBy, Time};

use super::Ssd;
use crate::event::Events;

impl Ssd {
    /// Closes the begun pages that a command waits for, and commits what is on the flash.
    pub(super) fn close_and_commit(&mut self, now: Time, events: &mut Events) {
        // First of all: what comes after this data belongs to the next commit.
        self.begin_commit(now, events);
        let Some(commits) = &self.commits else { return };
        let idle = commits.left == 0 && !self.durable_writes.are_closing();
        let waits = !self.drains.is_empty() || (idle && !self.durable_writes.is_empty());
        if waits && self.buffer.first().is_none() {
            self.backend.pad(now);
            self.durable_writes.close();
        }
    }

    fn begin_commit(&mut self, now: Time, events: &mut Events) {
        let Some(commits) = &mut self.commits else { return };
        let dirty = !self.drains.is_empty() && !self.buffer.is_clean();
        if commits.left > 0 || dirty || self.durable_writes.are_closing() {
            return;
        }
        if self.drains.is_empty() && commits.programmed.is_empty() {
            return;
        }
        debug_assert!(commits.covered.is_empty(), "the last commit answered all that it covered");
        commits.covered.append(&mut commits.programmed);
        commits.flushes = self.drains.len();
        // A map that lacks nothing is not written again.
        if std::mem::take(&mut commits.outdated) {
            commits.left = commits.rules.map_pages;
        }
        if commits.left > 0 {
            self.backend.program_map(now);
        } else {
            self.end_commit(now, events);
        }
    }

    /// Handles a programmed page of the map.
    pub(super) fn map_programmed(&mut self, now: Time, events: &mut Events) {
        let commits = self.commits.as_mut().expect("only a commit programs the map");
        debug_assert!(commits.left > 0, "a page of the map that no commit waits for");
        commits.left -= 1;
        if commits.left > 0 {
            self.backend.program_map(now);
        } else {
            self.end_commit(now, events);
        }
    }

    fn end_commit(&mut self, now: Time, events: &mut Events) {
        let commits = self.commits.as_mut().expect("a commit was in progress");
        let (mut covered, flushes) = (std::mem::take(&mut commits.covered), commits.flushes);
        for tag in covered.drain(..) {
            self.settle(now, tag, events);
        }
        for tag in self.drains.drain(..flushes).collect::<Vec<_>>() {
            self.answer(now, tag, ServedBy::Medium, events);
        }
        if let Some(commits) = &mut self.commits {
            // Returned, so that the next commit needs no allocation.
            (commits.covered, commits.flushes) = (covered, 0);
        }
        self.pump(now, events);
    }
}
