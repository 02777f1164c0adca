//! The receiver of a load loop's requests.

use crate::request::{Completion, Request};
use crate::units::{Bytes, Time};

/// A request that was not accepted.
#[derive(Debug)]
pub enum Rejected {
    /// The queue is full: wait for a completion, then submit it again.
    Full(Request),
    /// The target is broken.
    Broken(TargetError),
}

/// The reason why a target cannot go on.
#[derive(Debug, thiserror::Error)]
#[error("{operation} failed on the target")]
pub struct TargetError {
    /// The operation, for example `io_uring_enter`.
    pub operation: &'static str,
    /// The system's error.
    #[source]
    pub source: std::io::Error,
}

/// Accepts requests and completes them in its own time.
///
/// A [`crate::Device`] in virtual time is a `Target` that jumps to the next event; a kernel ring is
/// one that waits. The load loop, the probe and the durability check know only this trait, so the
/// code that is simulated is the code that ships.
pub trait Target {
    /// True if accepted requests stay here until [`Target::hand_over`] or [`Target::wait`].
    fn holds_back(&self) -> bool {
        false
    }

    /// The target's clock: virtual time, or the host's monotonic clock since the run began.
    fn now(&mut self) -> Time;

    /// Addressable bytes.
    fn capacity(&self) -> Bytes;

    /// Accepts `request`; it may reach the device now or at the next [`Target::wait`].
    ///
    /// # Errors
    /// [`Rejected::Full`] returns the request.
    fn submit(&mut self, request: Request) -> Result<(), Rejected>;

    /// Submits the requests that were held back to the device. Returns the number of
    /// completions already available, to be fetched with [`Target::wait`].
    ///
    /// # Errors
    /// The target is broken and nothing more will complete.
    fn hand_over(&mut self) -> Result<usize, TargetError> {
        Ok(0)
    }

    /// Waits until a request completed or the clock reads `until`, and appends the completions.
    ///
    /// With nothing in flight it waits only for `until`. A time in the past makes it a poll.
    ///
    /// # Errors
    /// The target is broken and nothing more will complete.
    fn wait(&mut self, until: Time, completed: &mut Vec<Completion>) -> Result<(), TargetError>;
}

impl<T: Target + ?Sized> Target for Box<T> {
    fn holds_back(&self) -> bool {
        (**self).holds_back()
    }

    fn now(&mut self) -> Time {
        (**self).now()
    }

    fn capacity(&self) -> Bytes {
        (**self).capacity()
    }

    fn submit(&mut self, request: Request) -> Result<(), Rejected> {
        (**self).submit(request)
    }

    fn hand_over(&mut self) -> Result<usize, TargetError> {
        (**self).hand_over()
    }

    fn wait(&mut self, until: Time, completed: &mut Vec<Completion>) -> Result<(), TargetError> {
        (**self).wait(until, completed)
    }
}
