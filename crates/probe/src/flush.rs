//! Flushes after random writes: the cost of deferred work.

use drivelab_core::measurements::MeasuredFlush;
use drivelab_core::numbers::float;
use drivelab_core::units::{Lba, Sectors, Span};
use drivelab_core::{Request, Target};

use crate::load::BLOCK;
use crate::session::{ProbeError, Session};

/// Smallest mean that a file of measurements can hold.
const MEAN_MS_MIN: f64 = 0.001;

/// Flushes after every `writes` random writes over the whole drive, for `time`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flushes {
    pub(crate) writes: u32,
    pub(crate) capacity: Sectors,
    pub(crate) time: Span,
}

impl Flushes {
    pub(crate) fn run<T: Target>(
        self,
        session: &mut Session<'_, T>,
    ) -> Result<Option<MeasuredFlush>, ProbeError> {
        assert!(self.writes > 0, "a flush after no write measures nothing");
        // Earlier writes must not count towards the first flush.
        session.one(Request::flush(0))?;
        let begin = session.now();
        let blocks = (self.capacity.get() / BLOCK.get()).max(1);
        let mut times = Vec::new();
        while session.now().since(begin) < self.time && !session.stop() {
            for _ in 0..self.writes {
                let lba = Lba::new(session.rng.below(blocks) * BLOCK.get());
                session.one(Request::write(0, lba, BLOCK))?;
            }
            let flushed = session.one(Request::flush(0))?;
            times.extend(flushed.map(|(_, took)| float(took.ns()) / 1e6));
        }
        session.drain()?;
        if times.len() < 3 {
            return Ok(None);
        }
        // The variance needs two values, and one that rests on two says little.
        let n = float(times.len() as u64);
        let mean = times.iter().sum::<f64>() / n;
        let squares: f64 = times.iter().map(|time| (time - mean) * (time - mean)).sum();
        let mean_ms = mean.max(MEAN_MS_MIN);
        let mean_error = Some(libm::sqrt(squares / (n - 1.0) / n) / mean_ms);
        Ok(Some(MeasuredFlush { writes: self.writes, mean_ms, mean_error }))
    }
}
