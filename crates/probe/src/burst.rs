//! Writes that the buffer of a solid-state drive takes over: what a write costs before the flash.

use drivelab_core::measurements::MeasuredBurst;
use drivelab_core::units::{Lba, Sectors, Span};
use drivelab_core::{Request, Target};

use crate::load::{BLOCK, float};
use crate::session::{ProbeError, Session};

/// Fewer writes show no median.
const FEWEST: usize = 100;

/// Bursts of `writes` random writes, one outstanding, each behind a flush and a pause.
///
/// A flush leaves the buffer of a drive empty; one whose capacitors protect the buffer may answer
/// it at once, and empties the buffer in the pause.
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
        if times.len() < FEWEST {
            return Ok(None);
        }
        times.sort_unstable();
        Ok(Some(self.seen(&times)))
    }

    /// The median of sorted times, with the error that their order gives: the true median lies
    /// between the values a root of the count on either side in 95 of 100 cases.
    fn seen(self, sorted: &[Span]) -> MeasuredBurst {
        let ms = |place: usize| float(sorted[place.min(sorted.len() - 1)].ns()) / 1e6;
        let middle = sorted.len() / 2;
        let aside = sorted.len().isqrt();
        let p50_ms = ms(middle).max(1e-6);
        let apart = ms(middle + aside) - ms(middle.saturating_sub(aside));
        MeasuredBurst { writes: self.writes, p50_ms, error: Some(apart / 4.0 / p50_ms) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_median_follows_from_its_neighbours() {
        let bursts = Bursts { writes: 64, capacity: Sectors::new(1 << 20), time: Span::ZERO };
        let times: Vec<Span> = (0..10_000).map(|at| Span::from_ns(30_000 + at)).collect();
        let seen = bursts.seen(&times);
        assert!((seen.p50_ms - 0.035).abs() < 1e-9, "{seen:?}");
        // A hundred places on either side are 100 ns: two deviations.
        assert!((seen.error.unwrap() - 50.0 / 35_000.0).abs() < 1e-6, "{seen:?}");
    }
}
