//! One connection on a socket.

use std::io;
use std::os::fd::OwnedFd;

use drivelab_core::{Span, Time};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::control::{self, HttpRequest, Via};
use crate::nbd::Session;

/// Time limit for a client's first request: it occupies a connection meanwhile.
pub(super) const PATIENCE: Span = Span::from_secs(10);

/// Bytes read from one client before the others get their turn.
pub(super) const TURN: usize = 256 << 10;

/// Maximum size of a control request: the longest head and body, and some spare.
const HTTP_BYTES_MAX: usize = 80 << 10;

#[derive(Debug)]
pub(super) enum Protocol {
    Nbd(Box<Session>),
    Http { via: Via, input: Vec<u8>, output: Vec<u8>, sent: usize, answered: bool },
}

impl Protocol {
    pub(super) fn nbd(session: Session) -> Self {
        Self::Nbd(Box::new(session))
    }

    pub(super) fn http(via: Via) -> Self {
        Self::Http { via, input: Vec::new(), output: Vec::new(), sent: 0, answered: false }
    }
}

/// Distinguishes a client from earlier ones in the same slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClientId {
    pub(super) slot: usize,
    pub(super) generation: u64,
}

impl ClientId {
    /// The number of its connection among the open ones.
    pub(super) fn submitter(self) -> u16 {
        u16::try_from(self.slot).unwrap_or(u16::MAX)
    }
}

#[derive(Debug)]
pub(super) struct Client {
    pub(super) stream: OwnedFd,
    pub(super) id: ClientId,
    pub(super) protocol: Protocol,
    opened: Time,
    /// Due times of the answers in the output.
    pub(super) due: Vec<Time>,
    /// True if bytes moved in either direction since the last check.
    pub(super) moved: bool,
    /// Time of the last check at which bytes had moved.
    pub(super) progress: Time,
    pub(super) interest: EventFlags,
}

impl Client {
    pub(super) fn new(stream: OwnedFd, id: ClientId, now: Time, protocol: Protocol) -> Self {
        let (due, interest) = (Vec::new(), EventFlags::empty());
        Self { stream, id, protocol, opened: now, due, moved: false, progress: now, interest }
    }

    pub(super) fn session(&mut self) -> Option<&mut Session> {
        match &mut self.protocol {
            Protocol::Nbd(session) => Some(session),
            Protocol::Http { .. } => None,
        }
    }

    pub(super) fn held(&self) -> usize {
        match &self.protocol {
            Protocol::Nbd(session) => session.held(),
            Protocol::Http { input, output, .. } => input.len() + output.len(),
        }
    }

    /// Returns whether it has been connected for long without sending a request.
    pub(super) fn is_overdue(&self, now: Time) -> bool {
        let idle = match &self.protocol {
            Protocol::Nbd(session) => !session.is_serving(),
            Protocol::Http { answered, .. } => !answered,
        };
        idle && now >= self.opened + PATIENCE
    }

    fn appetite(&self) -> usize {
        match &self.protocol {
            Protocol::Nbd(session) => session.appetite(),
            // Only one request is accepted; its answer may take long.
            Protocol::Http { answered: true, .. } => 0,
            Protocol::Http { input, .. } => HTTP_BYTES_MAX.saturating_sub(input.len()),
        }
    }

    /// Receives bytes from the client; returns whether it is still connected.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        // A turn at most, or one fast client would starve the others.
        let wanted = self.appetite().min(TURN).min(buffer.len());
        if wanted == 0 {
            return Ok(true);
        }
        let count = match rustix::io::read(&self.stream, &mut buffer[..wanted]) {
            Ok(0) => return Ok(false),
            Ok(count) => count,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        debug_assert!(count <= wanted, "the kernel fills at most the buffer");
        self.moved = true;
        match &mut self.protocol {
            Protocol::Nbd(session) => session.feed(&buffer[..count]),
            Protocol::Http { input, .. } => input.extend_from_slice(&buffer[..count]),
        }
        Ok(true)
    }

    fn output(&self) -> &[u8] {
        match &self.protocol {
            Protocol::Nbd(session) => session.output(),
            Protocol::Http { output, sent, .. } => &output[*sent..],
        }
    }

    pub(super) fn send(&mut self) -> io::Result<()> {
        while !self.output().is_empty() {
            // Without NOSIGNAL a client that disconnects would end the server with SIGPIPE.
            let sent = rustix::net::send(&self.stream, self.output(), SendFlags::NOSIGNAL);
            let count = match sent {
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            self.moved = true;
            match &mut self.protocol {
                Protocol::Nbd(session) => session.sent(count),
                Protocol::Http { output, sent, .. } => {
                    *sent += count;
                    debug_assert!(*sent <= output.len(), "a socket accepts at most its input");
                }
            }
        }
        Ok(())
    }

    pub(super) fn wants(&self) -> EventFlags {
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::IN, self.appetite() > 0);
        flags.set(EventFlags::OUT, !self.output().is_empty());
        flags
    }

    /// The control request, once it is complete; a bad one is answered here.
    pub(super) fn http_request(&mut self) -> Option<(Via, HttpRequest)> {
        let Protocol::Http { via, input, answered: answered @ false, .. } = &mut self.protocol
        else {
            return None;
        };
        match control::parse(input) {
            Ok(request) => {
                *answered = request.is_some();
                request.map(|request| (*via, request))
            }
            Err(error) => {
                let status = if error == control::Bad::TooLarge { 413 } else { 400 };
                self.answer(&control::Response::error(status, &error.to_string()));
                None
            }
        }
    }

    pub(super) fn answer(&mut self, response: &control::Response) {
        if let Protocol::Http { output, answered, .. } = &mut self.protocol {
            *answered = true;
            output.extend(response.to_bytes());
        }
    }

    /// Returns whether it is connected to the control port.
    pub(super) fn is_control(&self) -> bool {
        matches!(self.protocol, Protocol::Http { .. })
    }

    /// Returns whether everything has been sent: a control connection carries one request.
    pub(super) fn is_finished(&self) -> bool {
        match &self.protocol {
            Protocol::Nbd(_) => false,
            Protocol::Http { output, sent, .. } => !output.is_empty() && *sent == output.len(),
        }
    }
}
