//! A target that answers at once: it measures the cost of the loop.

use drivelab_core::request::{Completion, Request, ServedBy};
use drivelab_core::target::{Rejected, Target, TargetError};
use drivelab_core::units::{Bytes, Time};

use super::{Clock, check_range};

/// No device: requests complete when they are submitted.
#[derive(Debug)]
pub struct Null {
    clock: Clock,
    capacity: Bytes,
    /// At most the queue depth; completed at the next wait.
    sent: Vec<Request>,
}

impl Null {
    /// A target of `capacity` for at most `iodepth` requests outstanding.
    pub fn new(clock: Clock, capacity: Bytes, iodepth: u32) -> Self {
        Self { clock, capacity, sent: Vec::with_capacity(iodepth as usize) }
    }
}

impl Target for Null {
    #[inline]
    fn now(&mut self) -> Time {
        self.clock.now()
    }

    fn capacity(&self) -> Bytes {
        self.capacity
    }

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), Rejected> {
        if self.sent.len() == self.sent.capacity() {
            return Err(Rejected::Full(request));
        }
        self.sent.push(request);
        Ok(())
    }

    #[inline]
    fn wait(&mut self, until: Time, completed: &mut Vec<Completion>) -> Result<(), TargetError> {
        if self.sent.is_empty() {
            self.clock.sleep_until(until);
            return Ok(());
        }
        let at = self.clock.now();
        for request in self.sent.drain(..) {
            let result = check_range(&request, self.capacity);
            completed.push(Completion { id: request.id, at, result, served_by: ServedBy::Unknown });
        }
        Ok(())
    }
}
