//! All ranks, as one of them sees them: those that did not answer in time are left alone.

use std::collections::BTreeSet;

use drivelab_core::units::{Span, Time};

use super::Ranks;

/// Interval at which an idle rank looks for messages.
const PAUSE: Span = Span::from_ms(1);

/// All ranks.
#[derive(Debug)]
pub struct Crew<'a, R> {
    ranks: &'a R,
    /// Time limit of an answer.
    patience: Span,
    lost: BTreeSet<u32>,
}

impl<'a, R: Ranks> Crew<'a, R> {
    /// A crew in which each rank has this time limit for an answer.
    pub fn new(ranks: &'a R, patience: Span) -> Self {
        Self { ranks, patience, lost: BTreeSet::new() }
    }

    /// The number of this rank.
    pub fn rank(&self) -> u32 {
        self.ranks.rank()
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.ranks.size()
    }

    /// The time of this host.
    pub fn now(&self) -> Time {
        self.ranks.now()
    }

    /// The ranks that did not answer.
    pub fn lost(&self) -> impl Iterator<Item = u32> + '_ {
        self.lost.iter().copied()
    }

    /// Sends to a rank; false where that is lost.
    pub(super) fn send(&mut self, to: u32, message: &[u8]) -> bool {
        let deadline = self.now() + self.patience;
        // A lost rank is not tried again: each trial would cost the full patience.
        let sent = !self.lost.contains(&to) && self.ranks.send(to, message, deadline);
        if !sent {
            self.lost.insert(to);
        }
        sent
    }

    /// The next message from a rank; `None` where that is lost.
    pub(super) fn receive(&mut self, from: u32) -> Option<Vec<u8>> {
        let deadline = self.now() + self.patience;
        self.receive_by(from, deadline)
    }

    /// The next message from a rank that may take longer.
    pub(super) fn receive_within(&mut self, from: u32, limit: Span) -> Option<Vec<u8>> {
        let deadline = self.now() + limit + self.patience;
        self.receive_by(from, deadline)
    }

    /// A message that has already arrived.
    pub(super) fn try_receive(&mut self, from: u32) -> Option<Vec<u8>> {
        self.ranks.receive(from, self.now())
    }

    /// True if a rank that was heard at `since` may still answer; if not, it is lost.
    pub(super) fn may_wait_for(&mut self, rank: u32, since: Time) -> bool {
        let may = self.now() < since + self.patience;
        if !may {
            self.lost.insert(rank);
        }
        may
    }

    /// Waits a little: there is nothing else to do.
    pub(super) fn pause(&self) {
        // No rank writes to itself.
        let _ = self.ranks.receive(self.rank(), self.now() + PAUSE);
    }

    fn receive_by(&mut self, from: u32, deadline: Time) -> Option<Vec<u8>> {
        let message = (!self.lost.contains(&from)).then(|| self.ranks.receive(from, deadline));
        let message = message.flatten();
        if message.is_none() {
            self.lost.insert(from);
        }
        message
    }

    /// The message of rank 0, at every rank; `None` where rank 0 is lost.
    pub fn broadcast(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        if self.rank() != 0 {
            return self.receive(0);
        }
        for rank in 1..self.size() {
            self.send(rank, message);
        }
        Some(message.to_vec())
    }

    /// The message of each rank, at rank 0: all of them may take until `deadline` together. `None`
    /// for one that is lost; at the others, an empty list.
    pub fn gather(&mut self, message: &[u8], deadline: Time) -> Vec<Option<Vec<u8>>> {
        if self.rank() != 0 {
            self.send(0, message);
            return Vec::new();
        }
        let own = Some(message.to_vec());
        let others = (1..self.size()).map(|rank| self.receive_by(rank, deadline));
        // Each waits for its turn only where an earlier one is late.
        let others: Vec<_> = others.collect();
        std::iter::once(own).chain(others).collect()
    }

    /// Lets all ranks know that rank 0 has everything; false at a rank where some are lost, as then
    /// nothing that all of them must take part in may follow.
    pub fn part(&mut self) -> bool {
        let is_whole = [u8::from(self.lost.is_empty())];
        let said = match self.rank() {
            0 => self.broadcast(&is_whole),
            // It waits for the slowest of the others.
            _ => self.receive_within(0, self.patience),
        };
        said.as_deref() == Some(&[1]) && self.lost.is_empty()
    }
}
