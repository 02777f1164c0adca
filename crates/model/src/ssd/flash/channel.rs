//! A channel: one transfer at a time, in order of request.

use std::collections::VecDeque;

use crate::ssd::ftl::Die;

/// A bus shared by several dies.
#[derive(Debug, Clone)]
pub(super) struct Channel {
    moving: Option<Die>,
    waiting: VecDeque<Die>,
}

impl Channel {
    pub(super) fn new(dies: usize) -> Self {
        Self { moving: None, waiting: VecDeque::with_capacity(dies) }
    }

    /// Requests a transfer; returns true if it begins immediately.
    #[inline]
    pub(super) fn request(&mut self, die: Die) -> bool {
        debug_assert!(
            self.moving != Some(die) && !self.waiting.contains(&die),
            "{die:?} asks twice"
        );
        if self.moving.is_some() {
            self.waiting.push_back(die);
            return false;
        }
        self.moving = Some(die);
        true
    }

    /// Ends the transfer; returns its die, and the die whose transfer begins.
    #[inline]
    pub(super) fn finish(&mut self) -> (Die, Option<Die>) {
        let done = self.moving.take().expect("a transfer was under way");
        self.moving = self.waiting.pop_front();
        (done, self.moving)
    }
}
