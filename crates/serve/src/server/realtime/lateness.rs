//! The lateness of answers, and whether the run is valid.

use drivelab_core::record::LatenessNs;
use drivelab_core::{Histogram, Ratio, Span};

/// The lateness that a run tolerates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatenessBound {
    /// A share of the typical time of a read of the drive, this span; and never less than an idle
    /// host achieves. A drive that takes no time has [`Span::ZERO`].
    OfTypicalRead(Span),
    /// This much, for any drive.
    Fixed(Span),
}

/// The share of a typical read by which an answer may be late: a twentieth. It moves a quantile of
/// the answers by less than two streams of random addresses differ (up to 8 %, see
/// `docs/internals/emulation-error.md`), and is four times what an idle host adds to a disk of
/// 12 ms.
const SHARE: u64 = 20;

/// No host meets a lower bound, with and without real-time scheduling: measured on an otherwise
/// idle machine with two cores.
const FLOOR_FIFO: Span = Span::from_us(150);
const FLOOR_NORMAL: Span = Span::from_us(500);

/// One in this many answers may be later than the bound; and a single one never voids a run,
/// however short it is.
const ONE_IN: u64 = 100;

#[derive(Debug)]
pub(in crate::server) struct Lateness {
    histogram: Histogram,
    bound: Span,
    from: &'static str,
    answers: u64,
    late: u64,
}

impl Lateness {
    pub(in crate::server) fn new(bound: LatenessBound, fifo: bool) -> Self {
        let floor = if fifo { FLOOR_FIFO } else { FLOOR_NORMAL };
        let (bound, from) = match bound {
            LatenessBound::Fixed(bound) => (bound, "option"),
            LatenessBound::OfTypicalRead(typical) if typical / SHARE > floor => {
                (typical / SHARE, "drive")
            }
            LatenessBound::OfTypicalRead(_) => (floor, "host"),
        };
        Self { histogram: Histogram::new(), bound, from, answers: 0, late: 0 }
    }

    pub(in crate::server) fn record(&mut self, late: Span) {
        self.histogram.record(late);
        self.answers += 1;
        self.late += u64::from(late > self.bound);
    }

    pub(in crate::server) fn reset(&mut self) {
        (self.histogram, self.answers, self.late) = (Histogram::new(), 0, 0);
    }

    pub(in crate::server) fn bound(&self) -> Span {
        self.bound
    }

    /// The source of the bound: `option`, `drive` or `host`.
    pub(in crate::server) fn bound_from(&self) -> &'static str {
        self.from
    }

    pub(in crate::server) fn late(&self) -> u64 {
        self.late
    }

    pub(in crate::server) fn quantiles(&self) -> LatenessNs {
        let quantile = |percent| self.histogram.quantile(Ratio::percent(percent)).map(Span::ns);
        let max = self.histogram.max().map(Span::ns);
        LatenessNs { p50: quantile(50), p99: quantile(99), max }
    }

    /// A run with more late answers than that is void: it measured this host, not the drive.
    pub(in crate::server) fn is_valid(&self) -> bool {
        self.answers > 0 && self.late <= (self.answers / ONE_IN).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lateness(bound: LatenessBound, on_time: u64, late: u64) -> Lateness {
        let mut lateness = Lateness::new(bound, true);
        (0..on_time).for_each(|_| lateness.record(lateness.bound()));
        (0..late).for_each(|_| lateness.record(lateness.bound() + Span::from_ns(1)));
        lateness
    }

    #[test]
    fn the_bound_is_a_twentieth_of_a_typical_read_or_what_a_host_keeps() {
        let check = |bound, fifo, expected_us, from| {
            let lateness = Lateness::new(bound, fifo);
            assert_eq!(lateness.bound(), Span::from_us(expected_us), "{bound:?}");
            assert_eq!(lateness.bound_from(), from, "{bound:?}");
        };
        check(LatenessBound::OfTypicalRead(Span::from_ms(12)), true, 600, "drive");
        check(LatenessBound::OfTypicalRead(Span::from_ms(12)), false, 600, "drive");
        check(LatenessBound::OfTypicalRead(Span::from_ms(4)), false, 500, "host");
        check(LatenessBound::OfTypicalRead(Span::from_ms(2)), true, 150, "host");
        check(LatenessBound::OfTypicalRead(Span::ZERO), true, 150, "host");
        check(LatenessBound::Fixed(Span::from_us(10)), true, 10, "option");
    }

    #[test]
    fn one_late_answer_voids_nothing_and_more_than_one_in_a_hundred_do() {
        let check = |on_time, late, expected| {
            let bound = LatenessBound::Fixed(Span::from_us(150));
            assert_eq!(lateness(bound, on_time, late).is_valid(), expected, "{on_time}+{late}");
        };
        check(0, 0, false);
        check(0, 1, true);
        check(20, 1, true);
        check(20, 2, false);
        check(198, 2, true);
        check(197, 2, false);
        check(990, 10, true);
        check(989, 11, false);
    }

    #[test]
    fn what_was_late_before_a_reset_does_not_count() {
        let mut lateness = lateness(LatenessBound::Fixed(Span::from_us(150)), 0, 50);
        assert!(!lateness.is_valid());
        lateness.reset();
        lateness.record(Span::ZERO);
        assert!(lateness.is_valid());
        assert_eq!((lateness.late(), lateness.quantiles().max), (0, Some(0)));
    }
}
