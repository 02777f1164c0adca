//! The wire between drive and host.

use drivelab_core::{Sectors, Span, Time};

/// A wire that carries one transfer at a time in order, or one for each direction.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    pace: Pace,
    /// What a command costs on the wire besides its data.
    per_command: Span,
    /// From the answer on the wire until the host has it; the wire is free meanwhile.
    notice: Span,
    free: Time,
    /// The wire to the drive, where that is another.
    inward: Option<Time>,
}

/// How long sectors take at a rate, in units of 2^-16 ns a sector, so that no rate is rounded off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace(u64);

impl Pace {
    pub(crate) fn new(bytes_per_s: u64) -> Self {
        Self(((512 * 1_000_000_000_u64) << 16) / bytes_per_s)
    }

    #[inline]
    pub(crate) fn time(self, sectors: Sectors) -> Span {
        Span::from_ns(sectors.get().saturating_mul(self.0).div_ceil(1 << 16))
    }
}

/// The data of one frame, after which the receiver may begin to work: a SATA data FIS carries at
/// most 8192 bytes (Serial ATA 2.6, section 10.3.11).
const FRAME: Sectors = Sectors::new(16);

impl Port {
    /// A wire of `bytes_per_s` that needs `per_command` for everything but data.
    pub(crate) fn new(bytes_per_s: u64, per_command: Span) -> Self {
        let (pace, notice) = (Pace::new(bytes_per_s), Span::ZERO);
        Self { pace, per_command, notice, free: Time::ZERO, inward: None }
    }

    /// The same with a wire for each direction, and a host that has an answer after `notice`.
    pub(crate) fn duplex(self, notice: Span) -> Self {
        Self { notice, inward: Some(Time::ZERO), ..self }
    }

    /// The same with so much more for a command.
    pub(crate) fn slowed(self, by: Span) -> Self {
        Self { per_command: self.per_command + by, ..self }
    }

    /// When everything that it has taken so far is through.
    pub(crate) fn quiet(&self) -> Time {
        self.free
    }

    /// Brings all data of a write in: when the last of it has arrived.
    pub(crate) fn receive_all(&mut self, now: Time, sectors: Sectors) -> Time {
        let free = self.inward.as_mut().unwrap_or(&mut self.free);
        *free = (*free).max(now) + self.pace.time(sectors);
        *free
    }

    /// When the answer to a read has arrived at the host, if its data came off the medium between
    /// `from` and `to`: it moves while it is read, and the last frame follows the last sector.
    pub(crate) fn send_streamed(&mut self, from: Time, to: Time, sectors: Sectors) -> Time {
        let last = self.free.max(to) + self.pace.time(sectors.min(FRAME));
        let all = self.free.max(from) + self.pace.time(sectors);
        self.free = last.max(all) + self.per_command;
        self.free
    }

    /// When the drive has answered a command out of its memory, busy with it for `processing`.
    pub(crate) fn exchange(&mut self, now: Time, processing: Span, sectors: Sectors) -> Time {
        self.free = self.free.max(now) + processing + self.pace.time(sectors) + self.per_command;
        self.free + self.notice
    }

    /// Brings the data of a write in: when its first frame has arrived, with the wire in use until
    /// the last.
    pub(crate) fn receive(&mut self, now: Time, sectors: Sectors) -> Time {
        let start = self.free.max(now);
        self.free = start + self.pace.time(sectors);
        start + self.pace.time(sectors.min(FRAME))
    }

    /// When the host knows that a command without data is done.
    pub(crate) fn report(&mut self, now: Time) -> Time {
        self.free = self.free.max(now) + self.per_command;
        self.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::from_ns(us * 1000)
    }

    /// 512 MB/s: one microsecond a sector.
    fn port() -> Port {
        Port::new(512_000_000, Span::from_us(5))
    }

    #[test]
    fn a_streamed_read_ends_one_frame_after_the_medium() {
        let check = |from, to, sectors, expected| {
            assert_eq!(port().send_streamed(at(from), at(to), Sectors::new(sectors)), at(expected));
        };
        check(0, 10_000, 8, 10_013);
        check(0, 10_000, 1000, 10_021);
        // Slower than the medium: the wire decides.
        check(0, 500, 1000, 1005);
    }

    #[test]
    fn transfers_wait_for_each_other() {
        let mut port = port();
        assert_eq!(port.exchange(at(0), Span::from_us(50), Sectors::new(8)), at(63));
        assert_eq!(port.report(at(10)), at(68));
        assert_eq!(port.receive(at(0), Sectors::new(100)), at(84));
        assert_eq!(port.report(at(0)), at(173));
    }
}
