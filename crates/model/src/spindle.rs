//! Rotation of the platter: time to angle and back, in integers.

use drivelab_core::{Span, Time};

/// An angle as a fraction of a revolution, in units of 2^-64, so that overflow is a full turn.
pub type Angle = u64;

/// Distance at which a head still counts as on the sector, in nanoseconds.
// Times are rounded up to whole nanoseconds, so a head that follows a track is up to one nanosecond
// past the next sector; it has not missed it.
const TOLERANCE_NS: u64 = 3;

/// A spindle at constant speed.
///
/// All angles are absolute: at time 0 the index mark is under the heads, and the platter turns with
/// the clock even while the drive is idle.
#[derive(Debug, Clone)]
pub struct Spindle {
    /// Revolutions per nanosecond in units of 2^-96: 96 bits keep angle and time together to
    /// far less than a nanosecond over the 584 years a clock can hold.
    per_ns: u128,
    /// The same in units of 2^-64, exact enough for spans below a minute.
    per_ns_short: u64,
    /// Nanoseconds per revolution in units of 2^-32.
    revolution: u128,
    /// The same, rounded.
    period_ns: u64,
    tolerance: Angle,
}

impl Spindle {
    /// A spindle at `milli_rpm` thousandths of a revolution per minute, 10^5 to 10^8.
    pub fn new(milli_rpm: u64) -> Self {
        // 60 s = 6 * 10^13 thousandths of a nanosecond per thousandth of a revolution.
        const MINUTE: u128 = 60_000_000_000_000;
        debug_assert!((100_000..=100_000_000).contains(&milli_rpm), "{milli_rpm} milli-rpm");
        let speed = u128::from(milli_rpm);
        // Rounded to the nearest unit: over 584 years the error stays below a nanosecond.
        let per_ns = ((speed << 96) + MINUTE / 2) / MINUTE;
        let per_ns_short = u64::try_from(per_ns >> 32).expect("below 10^5 revolutions per minute");
        let revolution = ((MINUTE << 32) + speed / 2) / speed;
        let period_ns = low64((revolution + (1 << 31)) >> 32);
        let tolerance = TOLERANCE_NS * per_ns_short;
        Self { per_ns, per_ns_short, revolution, period_ns, tolerance }
    }

    /// One revolution, to the nearest nanosecond.
    pub fn period(&self) -> Span {
        Span::from_ns(self.period_ns)
    }

    /// The angle under the heads at `time`.
    #[inline]
    pub fn angle_at(&self, time: Time) -> Angle {
        // Wrapping at 2^128 drops whole revolutions, which are multiples of 2^96.
        low64(u128::from(time.ns()).wrapping_mul(self.per_ns) >> 32)
    }

    /// The angle it turns in `span`, which is below a minute.
    #[inline]
    pub fn turned_in(&self, span: Span) -> Angle {
        // `per_ns_short` is off by less than 2^-64 of a revolution a nanosecond: 6 * 10^10 of them
        // stay below a nanosecond.
        debug_assert!(span < Span::from_secs(60), "{span} is too long for the short factor");
        span.ns().wrapping_mul(self.per_ns_short)
    }

    /// The time until `target` comes under a head that is at `from`, rounded up.
    #[inline]
    pub fn wait(&self, from: Angle, target: Angle) -> Span {
        if from.wrapping_sub(target) <= self.tolerance {
            // Without the tolerance, a head one rounded nanosecond late would wait a revolution.
            return Span::ZERO;
        }
        self.time_for(u128::from(target.wrapping_sub(from)))
    }

    /// The angle by which a head that has just reached `target` is past it.
    ///
    /// Rounding up to whole nanoseconds makes it late by less than one; the next transfer has to
    /// subtract that, or a stream of many pieces would drift against the platter.
    #[inline]
    pub fn past(&self, angle: Angle, target: Angle) -> Angle {
        let past = angle.wrapping_sub(target);
        if past <= self.tolerance { past } else { 0 }
    }

    /// The wait to within a nanosecond, without the tolerance: cheaper, for ranking candidates.
    #[inline]
    pub(crate) fn wait_about(&self, from: Angle, target: Angle) -> u64 {
        low64((u128::from(target.wrapping_sub(from)) * u128::from(self.period_ns)) >> 64)
    }

    /// The time it takes to turn by `angle`, which may be several revolutions, rounded up.
    #[inline]
    pub fn time_for(&self, angle: u128) -> Span {
        const UNIT: u128 = 1 << 96;
        // Rounded up, since a head must not be ahead of its sector.
        Span::from_ns(low64((angle * self.revolution + (UNIT - 1)) >> 96))
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "returns the low half")]
pub(crate) const fn low64(wide: u128) -> u64 {
    wide as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angle_and_time_agree_to_the_nanosecond_over_days() {
        for milli_rpm in [7_200_000_u64, 7_416_123, 5_400_000, 15_000_000] {
            let spindle = Spindle::new(milli_rpm);
            // After k * milli_rpm revolutions exactly k * 60,000 s have passed.
            for minutes in [1_u64, 60, 1440, 100_000] {
                let time = Time::from_ns(minutes * 60_000_000_000 * 1000);
                let angle = spindle.angle_at(time);
                let off = angle.min(angle.wrapping_neg());
                assert!(off < spindle.per_ns_short, "{milli_rpm} mrpm, {minutes} k minutes");
            }
        }
    }

    #[test]
    fn waiting_leads_to_the_target() {
        let spindle = Spindle::new(7_200_000);
        let mut time = Time::from_ns(123_456_789);
        for step in 1..2000_u64 {
            let target = step.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            time += spindle.wait(spindle.angle_at(time), target);
            let past = spindle.angle_at(time).wrapping_sub(target);
            assert!(past <= spindle.per_ns_short * 2, "step {step}: {past}");
            assert_eq!(spindle.wait(spindle.angle_at(time), target), Span::ZERO);
        }
    }

    #[test]
    fn a_revolution_is_what_the_speed_says() {
        let check = |milli_rpm, ns| assert_eq!(Spindle::new(milli_rpm).period().ns(), ns);
        check(7_200_000, 8_333_333);
        check(5_400_000, 11_111_111);
        check(10_000_000, 6_000_000);
        assert_eq!(Spindle::new(10_000_000).time_for(1 << 65).ns(), 12_000_000);
    }
}
