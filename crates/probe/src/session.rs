//! The requests of a measurement: submission, completion and counts.

use drivelab_core::control::{Control, Event};
use drivelab_core::target::{Rejected, TargetError};
use drivelab_core::units::{Span, Time};
use drivelab_core::{Completion, IoError, Request, Rng, Target};

/// The reason why a measurement cannot continue.
#[expect(missing_docs, reason = "the messages say what the variants and their fields are")]
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("{what}: none of {requests} requests completed within {within}")]
    Silent { what: String, requests: u64, within: Span },
    #[error("{what}: {failed} of {requests} requests failed")]
    Failing {
        what: String,
        failed: u64,
        requests: u64,
        #[source]
        source: IoError,
    },
    #[error("the target holds {bytes} bytes, too few for a measurement")]
    Small { bytes: u64 },
    #[error(transparent)]
    Drive(#[from] drivelab_core::Invalid),
}

/// Longest wait before the request to stop is looked at again.
const POLL_INTERVAL: Span = Span::from_ms(100);
/// Time limit of a request: retries of a bad sector take long (7 s with TLER, more on desktop
/// drives).
const SILENCE: Span = Span::from_secs(60);
/// Time limit for outstanding requests after a stop.
const GRACE: Span = Span::from_secs(1);
/// Maximum number of failures in one step, unless they are less than one request in a hundred.
const FAILURES: u64 = 20;

/// The state of a measurement of a target.
pub(crate) struct Session<'a, T> {
    target: &'a mut T,
    control: &'a Control<'a>,
    pub(crate) rng: Rng,
    what: String,
    began: Time,
    before: Span,
    expected: Span,
    inbox: Vec<Completion>,
    outstanding: u64,
    last_completion: Time,
    pub(crate) stopped: bool,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) failed: u64,
    step: [u64; 2],
}

impl<'a, T: Target> Session<'a, T> {
    pub(crate) fn new(
        target: &'a mut T,
        control: &'a Control<'a>,
        seed: u64,
        expected: Span,
    ) -> Self {
        let now = target.now();
        Self {
            target,
            control,
            rng: Rng::for_part(seed, 0),
            what: String::new(),
            began: now,
            before: Span::ZERO,
            expected,
            inbox: Vec::with_capacity(64),
            outstanding: 0,
            last_completion: now,
            stopped: false,
            requests: 0,
            bytes: 0,
            failed: 0,
            step: [0; 2],
        }
    }

    /// Begins a step, after `before` of the expected time.
    pub(crate) fn begin(&mut self, what: &str, before: Span) {
        debug_assert!(before <= self.expected, "a step begins within the plan");
        what.clone_into(&mut self.what);
        self.before = before;
        self.began = self.now();
        self.step = [0; 2];
    }

    pub(crate) fn now(&mut self) -> Time {
        self.target.now()
    }

    /// Sends `request`, waiting while the target is full.
    pub(crate) fn send(&mut self, request: Request) -> Result<(), ProbeError> {
        let mut request = request;
        let (sectors, transfers) = (request.sectors, request.op.transfers());
        // Silence counts from here: no completion was due before.
        if self.outstanding == 0 {
            self.last_completion = self.now();
        }
        loop {
            match self.target.submit(request) {
                Ok(()) => break,
                Err(Rejected::Full(back)) => request = back,
                Err(Rejected::Broken(error)) => return Err(error.into()),
            }
            let until = self.now() + POLL_INTERVAL;
            self.wait_once(until)?;
        }
        self.outstanding += 1;
        self.requests += 1;
        self.step[0] += 1;
        debug_assert!(self.outstanding <= self.requests, "what is outstanding was sent");
        if transfers {
            self.bytes += sectors.bytes().get();
        }
        Ok(())
    }

    /// Takes the completions since the last call; waits until there is one, `until` has passed or
    /// the measurement is stopped.
    pub(crate) fn completed(&mut self, until: Time) -> Result<Vec<Completion>, ProbeError> {
        while self.inbox.is_empty() && self.now() < until && !self.stop() {
            let look = self.now() + POLL_INTERVAL;
            self.wait_once(look.min(until))?;
        }
        Ok(std::mem::take(&mut self.inbox))
    }

    /// Sends one request while no other is outstanding, and returns its completion time and
    /// duration; `None` if the measurement is stopped or the request failed.
    ///
    /// After a stop nothing is sent: a request that the stop interrupted may still be outstanding.
    pub(crate) fn one(&mut self, request: Request) -> Result<Option<(Time, Span)>, ProbeError> {
        if self.stopped {
            return Ok(None);
        }
        debug_assert_eq!(self.outstanding, 0, "the completion must be that of this request");
        let sent = self.now();
        self.send(request)?;
        loop {
            let answers = self.completed(Time::MAX)?;
            if let Some(answer) = answers.first() {
                return Ok(answer.result.is_ok().then(|| (answer.at, answer.at.since(sent))));
            }
            if self.stopped {
                return Ok(None);
            }
        }
    }

    /// Sends nothing for a while; no request may be outstanding.
    pub(crate) fn pause(&mut self, span: Span) -> Result<(), ProbeError> {
        debug_assert!(self.outstanding == 0 || self.stopped, "a completion would end the pause");
        let until = self.now() + span;
        while self.now() < until && !self.stop() {
            self.wait_once(until)?;
        }
        Ok(())
    }

    /// Waits for all outstanding requests; after a stop only for a limited time.
    pub(crate) fn drain(&mut self) -> Result<(), ProbeError> {
        let limit = self.now() + GRACE;
        while self.outstanding > 0 && !(self.stop() && self.now() >= limit) {
            let until = self.now() + POLL_INTERVAL;
            self.wait_once(until)?;
        }
        // Late answers belong to a step that has its figures.
        debug_assert!(self.outstanding == 0 || self.stopped, "only a stop leaves requests behind");
        self.inbox.clear();
        Ok(())
    }

    pub(crate) fn stop(&mut self) -> bool {
        self.stopped |= self.control.stopped();
        self.stopped
    }

    fn wait_once(&mut self, until: Time) -> Result<(), ProbeError> {
        let before = self.inbox.len();
        self.target.wait(until, &mut self.inbox)?;
        let time = self.now();
        let done = self.before + time.since(self.began);
        let (done, of) = (done.min(self.expected), self.expected);
        self.control.report(Event::Time { what: &self.what, done, of });
        let new = &self.inbox[before..];
        self.outstanding = self.outstanding.saturating_sub(new.len() as u64);
        debug_assert!(self.step[1] <= self.step[0], "failures are requests");
        if !new.is_empty() {
            self.last_completion = time;
        } else if self.outstanding > 0 && time.since(self.last_completion) > SILENCE {
            let (what, requests) = (self.what.clone(), self.outstanding);
            return Err(ProbeError::Silent { what, requests, within: SILENCE });
        }
        let errors = new.iter().filter_map(|answer| answer.result.err());
        let (count, last) = errors.fold((0, None), |(count, _), error| (count + 1, Some(error)));
        self.failed += count;
        self.step[1] += count;
        let [requests, failed] = self.step;
        match last {
            Some(source) if failed >= FAILURES && failed * 100 > requests => {
                Err(ProbeError::Failing { what: self.what.clone(), failed, requests, source })
            }
            _ => Ok(()),
        }
    }
}
