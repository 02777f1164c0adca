//! Sequential requests in one region.

use drivelab_core::numbers::float;
use drivelab_core::units::{Lba, Sectors, Span, Time};
use drivelab_core::{Op, Request, RequestId, Target};

use crate::session::{ProbeError, Session};

/// Requests of 1 MiB, one after the other.
const PIECE: Sectors = Sectors::new(2048);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Stream {
    pub(crate) write: bool,
    pub(crate) from: Lba,
    /// End of the region.
    pub(crate) to: Lba,
    /// Time until the steady rate is reached; nothing is counted before.
    pub(crate) ramp: Span,
    pub(crate) time: Span,
}

impl Stream {
    /// Returns the rate in MB/s; `None` if too few requests completed.
    pub(crate) fn run<T: Target>(
        self,
        session: &mut Session<'_, T>,
    ) -> Result<Option<f64>, ProbeError> {
        assert!(self.from <= self.to, "a region of the drive");
        let begin = session.now();
        let op = if self.write { Op::Write } else { Op::Read };
        let (mut next, mut counted) = (self.from, 0);
        // The first completion after the ramp, and the latest one since.
        let mut window: Option<(Time, Time)> = None;
        while session.now().since(begin) < self.time && next + PIECE <= self.to {
            let id = RequestId(0);
            let request = Request { id, op, lba: next, sectors: PIECE, fua: false, submitter: 0 };
            let Some((at, _)) = session.one(request)? else { break };
            next = next + PIECE;
            match &mut window {
                // The first completion only opens the window: its bytes were moved before.
                None if at.since(begin) >= self.ramp => window = Some((at, at)),
                None => {}
                Some((_, until)) => (counted, *until) = (counted + 1, at),
            }
        }
        debug_assert!(next <= self.to, "every request lies in the region");
        session.drain()?;
        let elapsed = window.map_or(Span::ZERO, |(since, until)| until.since(since));
        let bytes = float(counted * PIECE.bytes().get());
        let is_enough = counted >= 8 && elapsed > Span::ZERO;
        Ok(is_enough.then(|| bytes / 1e6 / (float(elapsed.ns()) / 1e9)))
    }
}
