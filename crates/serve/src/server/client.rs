//! One connection on a socket.

use std::io::{self, Read, Write};

use drivelab_core::{Span, Time};

use super::endpoint::Stream;
use crate::control::{self, HttpRequest};
use crate::nbd::Session;

/// How long a client may take to come to its first request: it holds a place meanwhile.
pub(super) const PATIENCE: Span = Span::from_secs(10);

/// Read from one client at a time before the others get their turn.
const TURN: usize = 256 << 10;

/// The most of a control request that is kept: the longest head and body, and some to spare.
const LONGEST_HTTP: usize = 80 << 10;

/// What a connection speaks.
#[derive(Debug)]
pub(super) enum Protocol {
    Nbd(Box<Session>),
    Http { input: Vec<u8>, output: Vec<u8>, sent: usize, answered: bool },
}

/// A connection and what is buffered for it.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) stream: Stream,
    /// Tells it from others that had its place before.
    pub(super) generation: u64,
    pub(super) protocol: Protocol,
    pub(super) opened: Time,
    /// When the answers that are in the output were due.
    pub(super) due: Vec<Time>,
    /// Bytes went either way since this was last looked at, and when they last did.
    pub(super) moved: bool,
    pub(super) progress: Time,
    /// What the loop waits for on it: input, output.
    pub(super) interest: (bool, bool),
}

impl Client {
    pub(super) fn nbd(stream: Stream, generation: u64, now: Time, session: Session) -> Self {
        Self::new(stream, generation, now, Protocol::Nbd(Box::new(session)))
    }

    pub(super) fn http(stream: Stream, generation: u64, now: Time) -> Self {
        let (input, output) = (Vec::new(), Vec::new());
        let protocol = Protocol::Http { input, output, sent: 0, answered: false };
        Self::new(stream, generation, now, protocol)
    }

    fn new(stream: Stream, generation: u64, now: Time, protocol: Protocol) -> Self {
        let (due, interest, moved) = (Vec::new(), (false, false), false);
        let (opened, progress) = (now, now);
        Self { stream, generation, protocol, opened, due, moved, progress, interest }
    }

    /// Whether it has been here for long without having asked for anything.
    pub(super) fn is_overdue(&self, now: Time) -> bool {
        let idle = match &self.protocol {
            Protocol::Nbd(session) => !session.is_serving(),
            Protocol::Http { answered, .. } => !answered,
        };
        idle && now >= self.opened + PATIENCE
    }

    /// How many more bytes it takes from the client now.
    fn appetite(&self) -> usize {
        match &self.protocol {
            Protocol::Nbd(session) => session.appetite(),
            // One request is all that is heard; its answer may be long in coming.
            Protocol::Http { answered: true, .. } => 0,
            Protocol::Http { input, .. } => LONGEST_HTTP.saturating_sub(input.len()),
        }
    }

    /// Takes what the client sent; says whether it is still there.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        let wanted = self.appetite().min(TURN).min(buffer.len());
        if wanted == 0 {
            return Ok(true);
        }
        let count = match self.stream.read(&mut buffer[..wanted]) {
            Ok(0) => return Ok(false),
            Ok(count) => count,
            Err(error) if is_passing(&error) => return Ok(true),
            Err(error) => return Err(error),
        };
        self.moved = true;
        match &mut self.protocol {
            Protocol::Nbd(session) => session.feed(&buffer[..count]),
            Protocol::Http { input, .. } => input.extend_from_slice(&buffer[..count]),
        }
        Ok(true)
    }

    /// Sends what the client takes.
    pub(super) fn send(&mut self) -> io::Result<()> {
        loop {
            let pending = match &self.protocol {
                Protocol::Nbd(session) => session.output(),
                Protocol::Http { output, sent, .. } => &output[*sent..],
            };
            if pending.is_empty() {
                return Ok(());
            }
            let count = match self.stream.write(pending) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if is_passing(&error) => return Ok(()),
                Err(error) => return Err(error),
            };
            self.moved = true;
            match &mut self.protocol {
                Protocol::Nbd(session) => session.sent(count),
                Protocol::Http { sent, .. } => *sent += count,
            }
        }
    }

    /// What the loop is to wait for: input, output.
    pub(super) fn wants(&self) -> (bool, bool) {
        let sends = match &self.protocol {
            Protocol::Nbd(session) => !session.output().is_empty(),
            Protocol::Http { output, sent, .. } => output.len() > *sent,
        };
        (self.appetite() > 0, sends)
    }

    /// The control request, once it is whole; a bad one is answered here.
    pub(super) fn http_request(&mut self) -> Option<HttpRequest> {
        let Protocol::Http { input, answered: answered @ false, .. } = &mut self.protocol else {
            return None;
        };
        match control::parse(input) {
            Ok(request) => {
                *answered = request.is_some();
                request
            }
            Err(error) => {
                let status = if error == control::Bad::TooLarge { 413 } else { 400 };
                self.answer(&control::Response::error(status, &error.to_string()));
                None
            }
        }
    }

    /// Puts the answer to a control request into the output.
    pub(super) fn answer(&mut self, response: &control::Response) {
        if let Protocol::Http { output, answered, .. } = &mut self.protocol {
            *answered = true;
            output.extend(response.to_bytes());
        }
    }

    /// Whether everything that was to be said is said: a control connection carries one request.
    pub(super) fn is_finished(&self) -> bool {
        match &self.protocol {
            Protocol::Nbd(_) => false,
            Protocol::Http { output, sent, .. } => !output.is_empty() && *sent == output.len(),
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
