//! The lateness of answers, and whether the run is valid.

use drivelab_core::record::LatenessNs;
use drivelab_core::{Histogram, Ratio, Span};

use super::round_trip::{CLIENT_OVERHEAD, SHARE, distorts};

/// The lateness that a run tolerates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatenessBound {
    /// A share of the typical time of a read of the drive, this span; and never less than an idle
    /// host achieves. A drive that takes no time has [`Span::ZERO`].
    OfTypicalRead(Span),
    /// This much, for any drive.
    Fixed(Span),
}

/// The lowest bounds that a host meets, with and without real-time scheduling: measured on an
/// otherwise idle machine with two cores.
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
    /// True if the bound exceeds a twentieth of the drive's typical read, so that serving must be
    /// checked against that share as well.
    exceeds_share: bool,
    answers: u64,
    late: u64,
}

impl Lateness {
    pub(in crate::server) fn new(bound: LatenessBound, fifo: bool) -> Self {
        // Below the floor nearly every answer of an idle host would count as late.
        let floor = if fifo { FLOOR_FIFO } else { FLOOR_NORMAL };
        let exceeds_share = match bound {
            LatenessBound::Fixed(_) | LatenessBound::OfTypicalRead(Span::ZERO) => false,
            LatenessBound::OfTypicalRead(typical) => typical / SHARE <= floor,
        };
        let (bound, from) = match bound {
            LatenessBound::Fixed(bound) => (bound, "option"),
            LatenessBound::OfTypicalRead(typical) if typical / SHARE > floor => {
                (typical / SHARE, "drive")
            }
            LatenessBound::OfTypicalRead(_) => (floor, "host"),
        };
        Self { histogram: Histogram::new(), bound, from, exceeds_share, answers: 0, late: 0 }
    }

    pub(in crate::server) fn record(&mut self, late: Span) {
        self.histogram.record(late);
        self.answers += 1;
        self.late += u64::from(late > self.bound);
        debug_assert!(self.late <= self.answers, "late answers are answers");
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
        let [p50, p99] =
            [50, 99].map(|percent| self.histogram.quantile(Ratio::percent(percent)).map(Span::ns));
        LatenessNs { p50, p99, max: self.histogram.max().map(Span::ns) }
    }

    /// Returns the time that serving adds to a typical request; `None` before the first.
    pub(in crate::server) fn added(&self) -> Option<Span> {
        self.histogram.quantile(Ratio::percent(50)).map(|late| late + CLIENT_OVERHEAD)
    }

    /// Returns whether the run measured the drive and not this host. It did not if more than one
    /// answer in [`ONE_IN`] was late; nor, for a fast drive, if serving added more than a twentieth
    /// of `modelled`, the mean time of a request by the model.
    pub(in crate::server) fn is_valid(&self, modelled: Span) -> bool {
        let is_distorted =
            self.exceeds_share && self.added().is_some_and(|added| distorts(added, modelled));
        self.answers > 0 && self.late <= (self.answers / ONE_IN).max(1) && !is_distorted
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
            let valid = lateness(bound, on_time, late).is_valid(Span::ZERO);
            assert_eq!(valid, expected, "{on_time}+{late}");
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
    fn answers_within_the_bound_do_not_make_a_fast_drive_valid() {
        let check = |bound, late_us, own_us, expected| {
            let mut lateness = Lateness::new(bound, true);
            (0..200).for_each(|_| lateness.record(Span::from_us(late_us)));
            let valid = lateness.is_valid(Span::from_us(own_us));
            assert_eq!(valid, expected, "{bound:?}: {late_us} us late, {own_us} us by the model");
        };
        let of = |us| LatenessBound::OfTypicalRead(Span::from_us(us));
        // Two solid-state drives at depth 1 and at depth 32.
        check(of(92), 14, 92, false);
        check(of(92), 15, 314, false);
        check(of(126), 22, 126, false);
        check(of(126), 13, 1026, false);
        // Most of what serving adds is the way, which no server shortens.
        check(of(300), 0, 799, false);
        check(of(300), 0, 800, true);
        // A disk whose cache answers most requests at once; what was asked for; and no drive.
        check(of(12_000), 14, 92, true);
        check(LatenessBound::Fixed(Span::from_us(150)), 14, 92, true);
        check(of(0), 14, 0, true);
    }

    #[test]
    fn what_was_late_before_a_reset_does_not_count() {
        let mut lateness = lateness(LatenessBound::Fixed(Span::from_us(150)), 0, 50);
        assert!(!lateness.is_valid(Span::ZERO));
        lateness.reset();
        lateness.record(Span::ZERO);
        assert!(lateness.is_valid(Span::ZERO));
        assert_eq!((lateness.late(), lateness.quantiles().max), (0, Some(0)));
    }
}
