//! A drive as a state machine.

use crate::request::{Completion, Request};
use crate::units::{Sectors, Time};

/// A drive that is told the time and never asks for it.
///
/// Protocol, asserted by every implementation:
/// - `now` never runs backwards over `submit` and `advance`, and never passes `next_event`;
/// - nothing changes by itself: between two events a device stands still;
/// - every accepted request completes exactly once, at or after the time it was submitted.
///
/// Wrappers (delay, faults, recording, an array, a controller with its link) implement the same
/// trait around any other `Device`.
pub trait Device {
    /// Addressable sectors.
    fn capacity(&self) -> Sectors;

    /// Hands over `request` at `now`.
    ///
    /// # Errors
    /// Gives the request back when the queue is full; try again after the next completion. A
    /// request that can never succeed (out of range) is accepted and completes with an error.
    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request>;

    /// When the device next has something to do, or `None` while it is idle.
    fn next_event(&self) -> Option<Time>;

    /// Moves the device to `now` and appends what completed on the way, in order of time.
    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>);
}

impl<D: Device + ?Sized> Device for Box<D> {
    fn capacity(&self) -> Sectors {
        (**self).capacity()
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        (**self).submit(now, request)
    }

    fn next_event(&self) -> Option<Time> {
        (**self).next_event()
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        (**self).advance(now, completed);
    }
}
