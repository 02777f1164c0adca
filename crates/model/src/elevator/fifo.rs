//! No elevator: requests leave in order of arrival.

use std::collections::VecDeque;

use drivelab_core::Request;
use drivelab_core::dispatch::{Class, Waiting};

/// One queue per class; the arrival number preserves the order between them.
#[derive(Debug, Default)]
pub(crate) struct Fifo {
    reads: VecDeque<(u64, Request)>,
    writes: VecDeque<(u64, Request)>,
    arrived: u64,
}

impl Fifo {
    #[inline]
    pub(crate) fn push(&mut self, request: Request) {
        self.arrived += 1;
        let queue = match Class::from(request.op) {
            Class::Read => &mut self.reads,
            Class::Write => &mut self.writes,
        };
        queue.push_back((self.arrived, request));
    }

    #[inline]
    pub(crate) fn waiting(&self) -> Waiting {
        let head = match (self.reads.front(), self.writes.front()) {
            (None, None) => None,
            (Some((read, _)), Some((write, _))) if write < read => Some(Class::Write),
            (Some(_), _) => Some(Class::Read),
            (None, Some(_)) => Some(Class::Write),
        };
        Waiting { reads: self.reads.len(), writes: self.writes.len(), head }
    }

    #[inline]
    pub(crate) fn pop(&mut self, class: Class) -> Option<Request> {
        let queue = match class {
            Class::Read => &mut self.reads,
            Class::Write => &mut self.writes,
        };
        queue.pop_front().map(|(_, request)| request)
    }
}
