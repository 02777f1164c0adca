//! Writes absorbed by the buffer of a solid-state drive: the cost of a write before the flash.

use drivelab_core::measurements::MeasuredBurst;
use drivelab_core::numbers::float;
use drivelab_core::units::{Lba, Sectors, Span};
use drivelab_core::{Request, Target};

use crate::load::BLOCK;
use crate::session::{ProbeError, Session};

/// Minimum number of writes for a median.
const WRITES_MIN: usize = 100;

/// Bursts of `writes` random writes at depth 1, each after a flush and a pause.
///
/// A flush leaves the buffer of a drive empty; a drive with power-loss protection may answer it at
/// once, and empties the buffer in the pause.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bursts {
    pub(crate) writes: u32,
    pub(crate) capacity: Sectors,
    pub(crate) time: Span,
}

const PAUSE: Span = Span::from_ms(20);

impl Bursts {
    pub(crate) fn run<T: Target>(
        self,
        session: &mut Session<'_, T>,
    ) -> Result<Option<MeasuredBurst>, ProbeError> {
        assert!(self.writes > 0, "a burst without a write never ends a measurement");
        let begin = session.now();
        let blocks = (self.capacity.get() / BLOCK.get()).max(1);
        let mut times = Vec::new();
        while session.now().since(begin) < self.time && !session.stop() {
            session.one(Request::flush(0))?;
            session.pause(PAUSE)?;
            for _ in 0..self.writes {
                let lba = Lba::new(session.rng.below(blocks) * BLOCK.get());
                let written = session.one(Request::write(0, lba, BLOCK))?;
                times.extend(written.map(|(_, took)| took));
            }
        }
        session.drain()?;
        if times.len() < WRITES_MIN {
            return Ok(None);
        }
        times.sort_unstable();
        Ok(Some(self.median(&times)))
    }

    /// Returns the median of sorted times, with its standard error from order statistics: the true
    /// median lies within sqrt(n) ranks of the middle in 95 of 100 cases.
    fn median(self, sorted: &[Span]) -> MeasuredBurst {
        assert!(sorted.len() >= WRITES_MIN, "the caller checked the count");
        debug_assert!(sorted.is_sorted(), "ranks are positions in order");
        let (middle, margin) = (sorted.len() / 2, sorted.len().isqrt());
        let ranks =
            [middle.saturating_sub(margin), middle, (middle + margin).min(sorted.len() - 1)];
        let [low, p50, high] = ranks.map(|rank| float(sorted[rank].ns()) / 1e6);
        // Not 0, as the error is divided by it.
        let p50_ms = p50.max(1e-6);
        // sqrt(n) ranks are two standard errors, on either side.
        MeasuredBurst { writes: self.writes, p50_ms, error: Some((high - low) / 4.0 / p50_ms) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_median_follows_from_its_neighbours() {
        let bursts = Bursts { writes: 64, capacity: Sectors::new(1 << 20), time: Span::ZERO };
        let times: Vec<Span> = (0..10_000).map(|at| Span::from_ns(30_000 + at)).collect();
        let seen = bursts.median(&times);
        assert!((seen.p50_ms - 0.035).abs() < 1e-9, "{seen:?}");
        // A hundred places on either side are 100 ns: two deviations.
        assert!((seen.error.unwrap() - 50.0 / 35_000.0).abs() < 1e-6, "{seen:?}");
    }
}
