//! The sockets of a guest, and the reason why its loop ends.

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rustix::event::{PollFd, PollFlags};

use crate::boot::about::{End, GuestError};
use crate::calendar::CalendarError;

/// A socket that the guest connects to once.
#[derive(Debug)]
pub(super) struct GuestSocket {
    listener: UnixListener,
    stream: Option<UnixStream>,
}

impl GuestSocket {
    pub(super) fn new(path: &Path) -> Result<Self, GuestError> {
        let listener = UnixListener::bind(path);
        let listener = listener.map_err(GuestError::at("listen for the guest"))?;
        Ok(Self { listener, stream: None })
    }

    /// Returns the event to wait for: a message, or the connection.
    pub(super) fn poll_fd(&self) -> PollFd<'_> {
        match &self.stream {
            Some(stream) => PollFd::new(stream, PollFlags::IN),
            None => PollFd::new(&self.listener, PollFlags::IN),
        }
    }

    /// Accepts the connection; returns whether it existed before, so that a message has arrived.
    pub(super) fn accept_once(&mut self) -> Result<bool, GuestError> {
        if self.stream.is_some() {
            return Ok(true);
        }
        let (stream, _) = self.listener.accept().map_err(GuestError::at("hear the guest"))?;
        self.stream = Some(stream);
        Ok(false)
    }

    pub(super) fn stream(&mut self) -> Result<&mut UnixStream, GuestError> {
        self.stream.as_mut().ok_or(GuestError::Early)
    }
}

/// The sockets of a guest that are readable.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ready {
    pub(super) clock: bool,
    /// Adapters whose driver sent a message, a bit for each.
    pub(super) disks: u64,
    /// Adapters whose interrupt was acknowledged.
    pub(super) interrupts: u64,
}

/// The reason why the loop ends before the guest.
pub(super) enum Stop {
    /// The guest closed a connection: it is ending.
    HungUp,
    /// The run ends in this way.
    Ended(End),
    /// The guest or this machine failed.
    Failed(GuestError),
}

impl<E: Into<GuestError>> From<E> for Stop {
    fn from(error: E) -> Self {
        match error.into() {
            GuestError::Calendar(CalendarError::Deadlock) => Self::Ended(End::Deadlocked),
            error => Self::Failed(error),
        }
    }
}
