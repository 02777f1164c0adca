//! A channel: one transfer at a time, in the order in which dies ask for it.

use std::collections::VecDeque;

use crate::ssd::ftl::Die;

/// A bus that several dies share.
#[derive(Debug, Clone)]
pub(super) struct Channel {
    moving: Option<Die>,
    waiting: VecDeque<Die>,
}

impl Channel {
    pub(super) fn new(dies: usize) -> Self {
        Self { moving: None, waiting: VecDeque::with_capacity(dies) }
    }

    /// Asks for a transfer; whether it begins at once.
    #[inline]
    pub(super) fn ask(&mut self, die: Die) -> bool {
        if self.moving.is_some() {
            self.waiting.push_back(die);
            return false;
        }
        self.moving = Some(die);
        true
    }

    /// The transfer is through: whose it was, and whose begins now.
    #[inline]
    pub(super) fn through(&mut self) -> (Die, Option<Die>) {
        let done = self.moving.take().expect("a transfer was under way");
        self.moving = self.waiting.pop_front();
        (done, self.moving)
    }
}
