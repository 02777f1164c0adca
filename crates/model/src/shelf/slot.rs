//! One drive of a shelf, with its host queue.

use std::collections::VecDeque;

use drivelab_core::{Completion, Device, Request, Sectors, Span, Time};

use super::lane::HeadStart;
use crate::controller::Pace;

/// A drive with its limits.
#[derive(Debug)]
pub struct Member<D> {
    /// The drive.
    pub device: D,
    /// Maximum commands under way to it.
    pub limit: usize,
    /// Rate of its wire, in bytes a second; `None` without a wire.
    pub wire_bytes_per_s: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Slot<D> {
    pub(super) device: D,
    pub(super) waiting: VecDeque<usize>,
    pub(super) under_way: usize,
    pub(super) limit: usize,
    pub(super) next: Option<Time>,
    wire: Option<Pace>,
    refused: VecDeque<Request>,
}

impl<D: Device> Slot<D> {
    pub(super) fn new(member: Member<D>) -> Self {
        Self {
            next: member.device.next_event(),
            device: member.device,
            waiting: VecDeque::new(),
            under_way: 0,
            limit: member.limit,
            wire: member.wire_bytes_per_s.map(Pace::new),
            refused: VecDeque::new(),
        }
    }

    /// Returns the part of a load's bus time that can overlap its transfer on the drive's wire,
    /// because the controller passes data on in bursts: all but a sector, within the time of the
    /// wire.
    #[inline]
    pub(super) fn overlap(&self, whole: Span, sectors: Sectors) -> HeadStart {
        let Some(wire) = self.wire else { return HeadStart::default() };
        // One sector has to be complete before it can be passed on.
        let burst = Span::from_ns(whole.ns() / sectors.get());
        let within = wire.time(sectors);
        HeadStart { within, most: within.min(whole.saturating_sub(burst)) }
    }

    #[inline]
    pub(super) fn submit(&mut self, now: Time, request: Request) {
        if let Err(request) = self.device.submit(now, request) {
            self.refused.push_back(request);
        }
        self.next = self.device.next_event();
    }

    #[inline]
    pub(super) fn advance(&mut self, now: Time, done: &mut Vec<Completion>) {
        self.device.advance(now, done);
        // A completion may have freed a slot for commands that the device refused before.
        while let Some(request) = self.refused.pop_front() {
            if let Err(request) = self.device.submit(now, request) {
                self.refused.push_front(request);
                break;
            }
        }
        self.next = self.device.next_event();
    }
}
