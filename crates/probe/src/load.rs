//! Random requests at a fixed depth.

use drivelab_core::measurements::FlashState;
use drivelab_core::units::{Lba, Sectors, Span, Time};
use drivelab_core::{Op, Request, RequestId, Rng, Target};

use crate::session::{ProbeError, Session};

/// Equal parts of the time whose rates give the error of the whole rate.
const PARTS: usize = 16;

/// Random requests of 4 KiB within the first `span` sectors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RandomLoad {
    pub(crate) write: bool,
    /// The state of a solid-state drive before the load.
    pub(crate) state: Option<FlashState>,
    pub(crate) span: Sectors,
    pub(crate) whole: bool,
    pub(crate) iodepth: u32,
    /// Time before anything is counted.
    pub(crate) ramp: Span,
    pub(crate) time: Span,
}

/// The result of one piece of a load.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Piece {
    pub(crate) load: RandomLoad,
    /// The time of each request.
    pub(crate) times: Vec<Span>,
    /// Requests in equal parts of the time.
    pub(crate) parts: Vec<u32>,
    pub(crate) elapsed: Span,
    /// True if it was not stopped early.
    pub(crate) is_whole: bool,
}

pub(crate) const BLOCK: Sectors = Sectors::new(8);

impl RandomLoad {
    /// Carries out the load.
    pub(crate) fn run<T: Target>(self, session: &mut Session<'_, T>) -> Result<Piece, ProbeError> {
        assert!(self.iodepth > 0, "without a request outstanding nothing would complete");
        let start = session.now() + self.ramp;
        let end = start + self.time;
        let mut sent = vec![Time::ZERO; self.iodepth as usize];
        for slot in 0..u64::from(self.iodepth) {
            sent[index(slot)] = session.now();
            let next = self.request(slot, &mut session.rng);
            session.send(next)?;
        }
        let (mut times, mut parts) = (Vec::new(), vec![0_u32; PARTS]);
        let mut last = start;
        while session.now() < end && !session.stop() {
            for answer in session.completed(end)? {
                let slot = answer.id.0;
                // Failed requests are counted by the session; their times say nothing about the
                // drive.
                if answer.result.is_ok() && answer.at >= start && answer.at < end {
                    times.push(answer.at.since(sent[index(slot)]));
                    // In 128 bits: an hour in ns times the number of parts is near 2^64.
                    let part = u128::from(answer.at.since(start).ns()) * PARTS as u128;
                    let part = usize::try_from(part / u128::from(self.time.ns()));
                    parts[part.unwrap_or(0).min(PARTS - 1)] += 1;
                    last = last.max(answer.at);
                }
                sent[index(slot)] = session.now();
                let next = self.request(slot, &mut session.rng);
                session.send(next)?;
            }
        }
        let is_whole = !session.stopped;
        // A stop ends the count at the last completion; the time after it would lower the rate.
        let elapsed = if is_whole { self.time } else { last.since(start) };
        debug_assert!(elapsed <= self.time, "nothing is counted after the end");
        session.drain()?;
        Ok(Piece { load: self, times, parts, elapsed, is_whole })
    }

    fn request(self, slot: u64, rng: &mut Rng) -> Request {
        let blocks = (self.span.get() / BLOCK.get()).max(1);
        // Aligned to 4 KiB, so that no drive has to read before it writes.
        let lba = Lba::new(rng.below(blocks) * BLOCK.get());
        let op = if self.write { Op::Write } else { Op::Read };
        Request { id: RequestId(slot), op, lba, sectors: BLOCK, fua: false, submitter: 0 }
    }
}

fn index(slot: u64) -> usize {
    usize::try_from(slot).expect("slots are indices of a Vec")
}
