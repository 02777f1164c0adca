//! The two drives of a tier, and the commands for which they have no room yet.

use std::collections::VecDeque;

use drivelab_core::{Completion, Destaged, Device, Request, Time};

/// One of the two drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The drive with the full capacity.
    Slow,
    /// The drive in front of it.
    Fast,
}

#[derive(Debug)]
struct End<D> {
    device: D,
    held: VecDeque<Request>,
}

/// Two drives.
#[derive(Debug)]
pub(super) struct Pair<D>([End<D>; 2]);

impl<D: Device> Pair<D> {
    pub(super) fn new(slow: D, fast: D) -> Self {
        Self([slow, fast].map(|device| End { device, held: VecDeque::new() }))
    }

    pub(super) fn device(&self, side: Side) -> &D {
        &self.0[side as usize].device
    }

    /// Appends data that reached the medium of the slow drive from its cache.
    pub(super) fn slow_destaged(&mut self, records: &mut Vec<Destaged>) {
        self.0[Side::Slow as usize].device.destaged(records);
    }

    /// Sends `request` as soon as the drive accepts it.
    pub(super) fn send(&mut self, now: Time, side: Side, request: Request) {
        let End { device, held } = &mut self.0[side as usize];
        if !held.is_empty() {
            // Behind earlier commands: a write must not overtake another of the same unit.
            held.push_back(request);
        } else if let Err(request) = device.submit(now, request) {
            held.push_back(request);
        }
    }

    pub(super) fn next_event(&self) -> Option<Time> {
        self.0.iter().filter_map(|end| end.device.next_event()).min()
    }

    /// Advances both drives to `now`, which is not after the next event.
    pub(super) fn advance(&mut self, now: Time, done: &mut Vec<Completion>) {
        for End { device, held } in &mut self.0 {
            if device.next_event().is_some_and(|next| next <= now) {
                device.advance(now, done);
                while let Some(request) = held.front() {
                    if device.submit(now, *request).is_err() {
                        break;
                    }
                    held.pop_front();
                }
            }
        }
    }
}
