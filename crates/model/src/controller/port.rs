//! The wire between drive and host.

use drivelab_core::{Bytes, Sectors, Span, Time};

/// A wire that carries one transfer at a time in order, or one for each direction.
#[derive(Debug, Clone)]
pub(crate) struct Port {
    pace: Pace,
    /// Overhead of a command on the wire, without its data.
    per_command: Span,
    /// From the completion on the wire until the host has it; the wire is free meanwhile.
    notice: Span,
    free: Time,
    /// End of the last transfer to the drive, if that direction has a separate wire.
    inward: Option<Time>,
}

/// Time of data at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pace {
    /// Of a sector, in units of 2^-16 ns, so that rounding loses nothing visible.
    sector: u64,
    /// Overhead of each frame behind the first, whose overhead is the command's.
    frame: Span,
}

impl Pace {
    pub(crate) fn new(bytes_per_s: u64) -> Self {
        debug_assert!(bytes_per_s > 0, "a wire without a rate");
        let sector = ((512 * 1_000_000_000_u64) << 16) / bytes_per_s;
        Self { sector, frame: Span::ZERO }
    }

    #[inline]
    pub(crate) fn time(self, sectors: Sectors) -> Span {
        // Rounded up: no transfer is faster than the wire.
        let data = Span::from_ns(sectors.get().saturating_mul(self.sector).div_ceil(1 << 16));
        if sectors <= FRAME {
            return data;
        }
        data + self.frame * ((sectors.get() - 1) / FRAME.get())
    }
}

/// The data of one frame, after which the receiver may begin to work: a SATA data FIS carries at
/// most 8192 bytes (Serial ATA 2.6, section 10.3.11).
const FRAME: Sectors = Sectors::new(16);

impl Port {
    /// A wire of `bytes_per_s` with an overhead of `per_command`.
    pub(crate) fn new(bytes_per_s: u64, per_command: Span) -> Self {
        let (pace, notice) = (Pace::new(bytes_per_s), Span::ZERO);
        Self { pace, per_command, notice, free: Time::ZERO, inward: None }
    }

    /// Adds `frame` to every frame behind the first of a transfer.
    pub(crate) fn framed(self, frame: Span) -> Self {
        Self { pace: Pace { frame, ..self.pace }, ..self }
    }

    /// The time that a command with these data takes of the wire at least.
    pub(crate) fn least_time(&self, data: Bytes) -> Span {
        self.pace.time(Sectors::holding(data)) + self.per_command
    }

    /// Adds a second wire for the other direction, and a delay of `notice` to completions.
    pub(crate) fn duplex(self, notice: Span) -> Self {
        Self { notice, inward: Some(Time::ZERO), ..self }
    }

    /// Adds `by` to the overhead of a command.
    pub(crate) fn slowed(self, by: Span) -> Self {
        Self { per_command: self.per_command + by, ..self }
    }

    /// Returns the time at which the current transfers have finished.
    pub(crate) fn quiet(&self) -> Time {
        self.free
    }

    /// Receives all data of a write; returns the arrival of its last frame.
    pub(crate) fn receive_all(&mut self, now: Time, sectors: Sectors) -> Time {
        let free = self.inward.as_mut().unwrap_or(&mut self.free);
        *free = (*free).max(now) + self.pace.time(sectors);
        *free
    }

    /// Sends read data that comes off the medium between `from` and `to`; returns its completion
    /// at the host. Data moves while it is read, and the last frame follows the last sector.
    pub(crate) fn send_streamed(&mut self, from: Time, to: Time, sectors: Sectors) -> Time {
        debug_assert!(from <= to, "the medium ends before it begins");
        let last = self.free.max(to) + self.pace.time(sectors.min(FRAME));
        // A wire slower than the medium still sends when the last sector has been read.
        let all = self.free.max(from) + self.pace.time(sectors);
        self.free = last.max(all) + self.per_command;
        self.free
    }

    /// Answers a command from the drive's memory after `processing`; returns its completion.
    pub(crate) fn exchange(&mut self, now: Time, processing: Span, sectors: Sectors) -> Time {
        self.free = self.free.max(now) + processing + self.pace.time(sectors) + self.per_command;
        self.free + self.notice
    }

    /// Receives the data of a write; returns the arrival of its first frame, while the wire stays
    /// in use until the last.
    pub(crate) fn receive(&mut self, now: Time, sectors: Sectors) -> Time {
        let start = self.free.max(now);
        self.free = start + self.pace.time(sectors);
        start + self.pace.time(sectors.min(FRAME))
    }

    /// Returns the completion of a command without data.
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
    fn each_further_frame_of_a_transfer_costs_its_overhead() {
        let framed = port().framed(Span::from_us(2));
        for (sectors, us) in [(1, 1), (16, 16), (17, 19), (32, 34), (256, 256 + 15 * 2)] {
            let data = Bytes::new(sectors * 512);
            assert_eq!(framed.least_time(data), Span::from_us(us + 5), "{sectors} sectors");
        }
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
