//! Points in time and lengths of time, in whole nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use super::{ParseUnitError, split_number};

/// A point on a run's own clock: nanoseconds since the run began.
///
/// Range: 0 to 2^64 - 1 ns, about 584 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time {
    ns: u64,
}

/// A length of time in nanoseconds.
///
/// Prints as an exact decimal in the largest unit that keeps it at or above one: `4.166666ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    ns: u64,
}

impl Time {
    /// The moment a run begins.
    pub const ZERO: Self = Self { ns: 0 };
    /// Later than any event.
    pub const MAX: Self = Self { ns: u64::MAX };

    /// The point `ns` nanoseconds after the run began.
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// Nanoseconds since the run began.
    pub const fn ns(self) -> u64 {
        self.ns
    }

    /// The time that has passed since `earlier`; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span { ns: self.ns.saturating_sub(earlier.ns) }
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self { ns: 0 };
    /// Longer than any run.
    pub const MAX: Self = Self { ns: u64::MAX };

    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// A span of `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self { ns: us * 1_000 }
    }

    /// A span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self { ns: ms * 1_000_000 }
    }

    /// A span of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self { ns: s * 1_000_000_000 }
    }

    /// A span of `s` seconds; `None` beyond the range of 584 years.
    pub const fn checked_from_secs(s: u64) -> Option<Self> {
        match s.checked_mul(1_000_000_000) {
            Some(ns) => Some(Self { ns }),
            None => None,
        }
    }

    /// Its length in nanoseconds.
    pub const fn ns(self) -> u64 {
        self.ns
    }

    /// True if it has no length.
    pub const fn is_zero(self) -> bool {
        self.ns == 0
    }

    /// The difference to `other`; never below zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self { ns: self.ns.saturating_sub(other.ns) }
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self { ns: self.ns.saturating_add(span.ns) }
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self { ns: self.ns.saturating_sub(span.ns) }
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { ns: self.ns.saturating_add(other.ns) }
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self { ns: self.ns.saturating_mul(times) }
    }
}

impl Div<u64> for Span {
    type Output = Self;
    fn div(self, parts: u64) -> Self {
        Self { ns: self.ns / parts }
    }
}

const UNITS: [(&str, u64); 6] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Hours and minutes print only when whole: 1.5m reads worse than 90s.
        let unit = UNITS.iter().find(|(name, size)| match *name {
            "h" | "m" => self.ns >= *size && self.ns.is_multiple_of(*size),
            _ => self.ns >= *size,
        });
        let &(name, size) = unit.unwrap_or(&("s", 1_000_000_000));
        let (whole, rest) = (self.ns / size, self.ns % size);
        if rest == 0 {
            return f.pad(&format!("{whole}{name}"));
        }
        // Exact, so that the text reads back as the same span; only trailing zeros are cut.
        let digits = size.ilog10() as usize;
        let fraction = format!("{rest:0digits$}");
        f.pad(&format!("{whole}.{}{name}", fraction.trim_end_matches('0')))
    }
}

impl FromStr for Span {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        // fio counts in seconds, or microseconds, depending on the option.
        let wanted = if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
            "a duration: it needs a unit, such as `10s`, `5m`, `1.5ms` or `250us`"
        } else {
            "a duration such as `10s`, `5m`, `1.5ms` or `250us`"
        };
        let error = || ParseUnitError { text: text.to_owned(), wanted };
        let (number, unit) = split_number(text).ok_or_else(error)?;
        let size = match unit {
            "" if number == 0 => 1,
            "min" => 60_000_000_000,
            "µs" => 1_000,
            unit => UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(error)?.1,
        };
        let scaled = number.checked_mul(u128::from(size)).ok_or_else(error)?;
        // A part of a nanosecond is refused, not rounded.
        if !scaled.is_multiple_of(1_000_000_000) {
            return Err(error());
        }
        let ns = u64::try_from(scaled / 1_000_000_000).map_err(|_| error())?;
        Ok(Self { ns })
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span { ns: self.ns }.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_print_in_the_unit_a_person_would_use() {
        let check = |ns, expected: &str| assert_eq!(Span::from_ns(ns).to_string(), expected);
        check(0, "0s");
        check(999, "999ns");
        check(4_166_667, "4.166667ms");
        check(30_000_000_000, "30s");
        check(90_000_000_000, "90s");
        check(300_000_000_000, "5m");
        check(u64::MAX, "18446744073.709551615s");
    }

    #[test]
    fn spans_parse_or_say_what_they_want() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(text.parse::<Span>().ok().map(Span::ns), expected, "{text}");
        };
        check("10s", Some(10_000_000_000));
        check("1.5 ms", Some(1_500_000));
        check("0", Some(0));
        check("10", None);
        check("1e30s", None);
        check("-1s", None);
        check("0.5ns", None);
        check("99999999999h", None);
    }

    proptest::proptest! {
        #[test]
        fn printing_and_parsing_are_inverse(ns: u64) {
            let span = Span::from_ns(ns);
            assert_eq!(span.to_string().parse(), Ok(span));
        }
    }
}
