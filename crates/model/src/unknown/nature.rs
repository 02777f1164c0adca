//! What the values of a key are, so that they can be drawn as numbers and written as text.

use drivelab_core::config::Value as _;
use drivelab_core::{Bytes, Ratio, Span};

/// What the values of a key are.
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

/// A type of value that a profile may leave open; `None` where it must be known.
pub(crate) trait Open {
    const NATURE: Option<Nature>;
}

impl Nature {
    /// The number that `text` stands for.
    pub(crate) fn number(self, text: &str) -> Result<f64, String> {
        #[expect(clippy::cast_precision_loss, reason = "times and memory far below 2^53")]
        let float = |whole: u64| whole as f64;
        match self {
            Self::Time => Span::read(text).map(|span| float(span.ns())),
            Self::Memory => Bytes::read(text).map(|bytes| float(bytes.get())),
            Self::Share => Ratio::read(text).map(Ratio::to_f64),
            Self::Number | Self::Whole => f64::read(text),
            Self::Name => Err(format!("`{text}` is a name, not a number")),
        }
    }

    /// How a profile writes `number`, rounded to what the key can hold.
    pub(crate) fn spelled(self, number: f64) -> String {
        let sign = if number < 0.0 { "-" } else { "" };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "rounded and not negative; casts of floats saturate"
        )]
        let whole = |number: f64| libm::round(number.abs()) as u64;
        match self {
            Self::Time => format!("{sign}{}", Span::from_ns(whole(number))),
            Self::Memory => format!("{sign}{}", Bytes::new(whole(number / 512.0) * 512)),
            Self::Share => format!("{sign}{}", Ratio::from_billionths(whole(number * 1e9))),
            Self::Whole => format!("{sign}{}", whole(number)),
            Self::Number | Self::Name => number.to_string(),
        }
    }

    /// The same for people, in three significant digits.
    pub(crate) fn in_words(self, number: f64) -> String {
        if number == 0.0 {
            return self.spelled(0.0);
        }
        let power = libm::floor(libm::log10(number.abs())) - 2.0;
        // Dividing by a whole power of ten gives the nearest float, multiplying by its inverse
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
