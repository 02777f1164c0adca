//! A drive as a state machine.

use crate::request::{Completion, Request};
use crate::units::{Lba, Sectors, Time};

/// Cached data that has reached the medium.
///
/// A write that completes with [`crate::ServedBy::DriveWriteCache`] is on the medium only once its
/// sectors have been reported here; any other write is on the medium when it completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Destaged {
    /// First sector.
    pub lba: Lba,
    /// Number of sectors.
    pub sectors: Sectors,
    /// Time at which the drive took the data out of its cache: data submitted later is not
    /// part of it.
    pub taken: Time,
    /// Time at which the last of it was on the medium.
    pub at: Time,
}

/// A drive that receives the time as an argument and never reads a clock.
///
/// Protocol, asserted by every implementation:
///
/// - `now` never runs backwards over `submit` and `advance`, and never passes `next_event`;
/// - nothing changes by itself: between two events a device stands still;
/// - every accepted request completes exactly once, at or after the time it was submitted.
///
/// Wrappers (delay, faults, recording, an array, a controller with its link) implement the same
/// trait around any other `Device`.
pub trait Device {
    /// Addressable sectors.
    fn capacity(&self) -> Sectors;

    /// Submits `request` at `now`.
    ///
    /// # Errors
    /// Returns the request when the queue is full; try again after the next completion. A request
    /// that can never succeed (out of range) is accepted and completes with an error.
    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request>;

    /// Time of the device's next event, or `None` while it is idle.
    fn next_event(&self) -> Option<Time>;

    /// Moves the device to `now` and appends the requests completed since, in order of time.
    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>);

    /// Appends the data that reached the medium from a volatile cache since the last call, in
    /// order.
    ///
    /// A device starts to keep such records with the first call, so a run that never calls this
    /// pays nothing for them. A device without a volatile cache never has any.
    fn destaged(&mut self, _records: &mut Vec<Destaged>) {}
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

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        (**self).destaged(records);
    }
}
