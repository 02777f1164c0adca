//! Random requests, a fixed number of them outstanding.

use drivelab_core::measurements::{Figures, MeasuredLoad};
use drivelab_core::units::{Lba, Sectors, Span, Time};
use drivelab_core::{Op, Request, RequestId, Rng, Target};

use crate::session::{ProbeError, Session};

/// Equal parts of the time whose rates give the error of the whole rate.
const PARTS: usize = 16;

/// Fewer requests than this are no load.
const FEWEST: usize = 32;

/// Random requests of 4 KiB within the first `span` sectors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RandomLoad {
    pub(crate) write: bool,
    pub(crate) span: Sectors,
    pub(crate) whole: bool,
    pub(crate) iodepth: u32,
    /// Before anything is counted.
    pub(crate) ramp: Span,
    pub(crate) time: Span,
}

pub(crate) const BLOCK: Sectors = Sectors::new(8);

impl RandomLoad {
    /// Carries it out; nothing where it was stopped before it had shown anything.
    pub(crate) fn run<T: Target>(
        self,
        session: &mut Session<'_, T>,
    ) -> Result<Option<MeasuredLoad>, ProbeError> {
        let start = session.now() + self.ramp;
        let end = start + self.time;
        let mut sent = vec![Time::ZERO; self.iodepth as usize];
        for slot in 0..u64::from(self.iodepth) {
            sent[place(slot)] = session.now();
            let request = self.request(slot, &mut session.rng);
            session.send(request)?;
        }
        let (mut times, mut parts) = (Vec::new(), [0_u32; PARTS]);
        let mut last = start;
        while session.now() < end && !session.stop() {
            for answer in session.completed(end)? {
                let slot = answer.id.0;
                if answer.result.is_ok() && answer.at >= start && answer.at < end {
                    times.push(answer.at.since(sent[place(slot)]));
                    let part = u128::from(answer.at.since(start).ns()) * PARTS as u128;
                    let part = usize::try_from(part / u128::from(self.time.ns()));
                    parts[part.unwrap_or(0).min(PARTS - 1)] += 1;
                    last = last.max(answer.at);
                }
                sent[place(slot)] = session.now();
                let request = self.request(slot, &mut session.rng);
                session.send(request)?;
            }
        }
        let elapsed = if session.stopped { last.since(start) } else { self.time };
        session.drain()?;
        Ok(self.outcome(times, elapsed, &parts))
    }

    fn request(self, slot: u64, rng: &mut Rng) -> Request {
        let blocks = (self.span.get() / BLOCK.get()).max(1);
        let lba = Lba::new(rng.below(blocks) * BLOCK.get());
        let op = if self.write { Op::Write } else { Op::Read };
        Request { id: RequestId(slot), op, lba, sectors: BLOCK, fua: false }
    }

    fn outcome(
        self,
        mut times: Vec<Span>,
        elapsed: Span,
        parts: &[u32; PARTS],
    ) -> Option<MeasuredLoad> {
        if times.len() < FEWEST || elapsed.is_zero() {
            return None;
        }
        times.sort_unstable();
        let iops = float(times.len() as u64) / (float(elapsed.ns()) / 1e9);
        let span_bytes = (!self.whole).then(|| self.span.bytes().get());
        let complete = elapsed == self.time;
        Some(MeasuredLoad {
            requests: Some(times.len() as u64),
            rate_error: complete.then(|| relative_error(parts)),
            figures: Figures::of_times(&times, iops),
            ..MeasuredLoad::new(self.write, span_bytes, self.iodepth)
        })
    }
}

fn place(slot: u64) -> usize {
    usize::try_from(slot).expect("slots are named after places")
}

/// The standard error of the mean of `counts`, as a share of it: batch means, which see whatever
/// correlation there is within a part.
fn relative_error(counts: &[u32]) -> f64 {
    let n = float(counts.len() as u64);
    let mean = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / n;
    let off = |count: &u32| (f64::from(*count) - mean) * (f64::from(*count) - mean);
    let variance = counts.iter().map(off).sum::<f64>() / (n - 1.0);
    libm::sqrt(variance / n) / mean
}

#[expect(clippy::cast_precision_loss, reason = "times and counts are far below 2^52")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_rate_is_that_of_its_parts() {
        assert!(relative_error(&[10; 16]) < 1e-12);
        // Variance 1 of 4 values about 10: a standard error of a half, which is 5 %.
        let spread = relative_error(&[9, 11, 9, 11]);
        assert!((spread - libm::sqrt(4.0 / 3.0 / 4.0) / 10.0).abs() < 1e-12, "{spread}");
    }
}
