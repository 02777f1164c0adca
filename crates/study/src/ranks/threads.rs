//! Ranks as threads: each with its own clock, and messages that take their time.

use std::cell::{Cell, RefCell};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use drivelab_core::Rng;
use drivelab_core::units::Time;

use super::Ranks;

/// One rank.
#[derive(Debug)]
pub(super) struct Thread {
    rank: u32,
    zero: Instant,
    /// The time on its clock at the common zero.
    ahead_ns: u64,
    /// The delay of each message it sends: up to this, drawn.
    delay_us_max: u64,
    draw: RefCell<Rng>,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Receiver<Vec<u8>>>,
    /// Times of its calls, since the common zero.
    calls_ns: RefCell<Vec<u64>>,
    /// True if it is killed when it has sent its next message.
    dies: Cell<bool>,
}

impl Thread {
    /// Ranks whose clocks are this far ahead of the first one's.
    pub(super) fn all(ahead_ms: &[i64], delay_us_max: u64) -> Vec<Self> {
        let size = ahead_ms.len();
        let mut to: Vec<Vec<Sender<_>>> = (0..size).map(|_| Vec::new()).collect();
        let mut from: Vec<Vec<Receiver<_>>> = (0..size).map(|_| Vec::new()).collect();
        for sender in &mut to {
            for receiver in &mut from {
                let (end, begin) = channel();
                sender.push(end);
                receiver.push(begin);
            }
        }
        let zero = Instant::now();
        let ends = to.into_iter().zip(from).zip(ahead_ms).zip(0..);
        ends.map(|(((to, from), ahead_ms), rank)| Self {
            rank,
            zero,
            // Clocks are positive.
            ahead_ns: 3_600_000_000_000_u64.checked_add_signed(ahead_ms * 1_000_000).unwrap(),
            delay_us_max,
            draw: RefCell::new(Rng::for_part(7, u64::from(rank))),
            to,
            from,
            calls_ns: RefCell::default(),
            dies: Cell::default(),
        })
        .collect()
    }

    /// A time of this clock, since the common zero.
    pub(super) fn true_ns(&self, time: Time) -> u64 {
        time.ns() - self.ahead_ns
    }

    /// Waits until this time on its clock.
    pub(super) fn sleep_until(&self, time: Time) {
        let left = time.ns().saturating_sub(self.clock().ns());
        thread::sleep(Duration::from_nanos(left));
    }

    pub(super) fn clock(&self) -> Time {
        let passed = u64::try_from(self.zero.elapsed().as_nanos()).unwrap();
        Time::from_ns(self.ahead_ns + passed)
    }

    /// Calls between two instants on this clock.
    pub(super) fn calls_within(&self, begin: Time, end: Time) -> usize {
        let range = self.true_ns(begin)..self.true_ns(end);
        self.calls_ns.borrow().iter().filter(|at| range.contains(at)).count()
    }

    /// Its next message is its last: it is killed while it waits for an answer.
    pub(super) fn die_after_next(&self) {
        self.dies.set(true);
    }

    fn called(&self) {
        self.calls_ns.borrow_mut().push(self.true_ns(self.clock()));
    }
}

impl Ranks for Thread {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        u32::try_from(self.to.len()).unwrap()
    }

    fn now(&self) -> Time {
        self.called();
        self.clock()
    }

    fn send(&self, to: u32, message: &[u8], _deadline: Time) -> bool {
        self.called();
        let delay = self.draw.borrow_mut().below(self.delay_us_max + 1);
        thread::sleep(Duration::from_micros(delay));
        let sent = self.to[to as usize].send(message.to_vec()).is_ok();
        if self.dies.get() {
            resume_unwind(Box::new("killed"));
        }
        sent
    }

    fn receive(&self, from: u32, deadline: Time) -> Option<Vec<u8>> {
        self.called();
        let left = deadline.ns().saturating_sub(self.clock().ns());
        let message = self.from[from as usize].recv_timeout(Duration::from_nanos(left));
        // A rank that has died hangs up here, and is silent over MPI.
        if message == Err(RecvTimeoutError::Disconnected) {
            thread::sleep(Duration::from_nanos(left));
        }
        message.ok()
    }
}
