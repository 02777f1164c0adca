//! Kinds of values of a key: conversion between text and drawn numbers.

use drivelab_core::config::Value as _;
use drivelab_core::numbers::float;
use drivelab_core::{Bytes, Invalid, Ratio, Span, invalid};

/// The kind of a key's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nature {
    /// A length of time, in nanoseconds.
    Time,
    /// Memory in bytes, whole sectors.
    Memory,
    /// A share of the whole.
    Share,
    /// A number.
    Number,
    /// A whole number.
    Whole,
    /// One of several names.
    Name,
}

/// A type of value that a profile may leave open; `None` for one that must be known.
pub(crate) trait Open {
    const NATURE: Option<Nature>;
}

impl Nature {
    /// Reads `text` as a number.
    pub(crate) fn number(self, text: &str) -> Result<f64, Invalid> {
        match self {
            Self::Time => Span::read(text).map(|span| float(span.ns())),
            Self::Memory => Bytes::read(text).map(|bytes| float(bytes.get())),
            Self::Share => Ratio::read(text).map(Ratio::to_f64),
            Self::Number | Self::Whole => f64::read(text),
            Self::Name => Err(invalid!("`{text}` is a name, not a number")),
        }
    }

    /// Writes `number` as in a profile, rounded to the resolution of the key.
    pub(crate) fn spelled(self, number: f64) -> String {
        let sign = if number < 0.0 { "-" } else { "" };
        match self {
            Self::Time => format!("{sign}{}", Span::from_ns(rounded_abs(number))),
            // Memory comes in whole sectors of 512 bytes.
            Self::Memory => format!("{sign}{}", Bytes::new(rounded_abs(number / 512.0) * 512)),
            Self::Share => format!("{sign}{}", Ratio::from_billionths(rounded_abs(number * 1e9))),
            Self::Whole => format!("{sign}{}", rounded_abs(number)),
            Self::Number | Self::Name => number.to_string(),
        }
    }

    /// Writes `number` for people, with three significant digits.
    pub(crate) fn in_words(self, number: f64) -> String {
        if number == 0.0 {
            return self.spelled(0.0);
        }
        // Two powers below the leading digit leave three significant digits.
        let power = libm::floor(libm::log10(number.abs())) - 2.0;
        // Division by a whole power of ten gives the nearest float, multiplication by its inverse
        // does not.
        let unit = libm::pow(10.0, power.abs());
        let rounded = if power < 0.0 {
            libm::round(number * unit) / unit
        } else {
            libm::round(number / unit) * unit
        };
        self.spelled(rounded)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded and not negative; casts of floats saturate"
)]
fn rounded_abs(number: f64) -> u64 {
    libm::round(number.abs()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_they_are_read() {
        let check = |nature: Nature, text: &str, number: f64| {
            assert_eq!(nature.number(text), Ok(number), "{text}");
            assert_eq!(nature.spelled(number), text);
        };
        check(Nature::Time, "2.3ms", 2_300_000.0);
        check(Nature::Memory, "16M", 16_777_216.0);
        check(Nature::Share, "0.7%", 0.007);
        check(Nature::Number, "0.65", 0.65);
        check(Nature::Whole, "128", 128.0);
        assert_eq!(Nature::Time.in_words(5_556_789.0), "5.56ms");
        assert_eq!(Nature::Number.in_words(0.196_64), "0.197");
        assert_eq!(Nature::Time.spelled(-1.4), "-1ns");
    }
}
