//! Exact fractions: probabilities, shares and relative effects.

use std::fmt;
use std::str::FromStr;

use super::{ParseUnitError, split_number};

/// A fraction in parts of a thousand million, so that no decision depends on a float.
///
/// Parses `3%`, `0.03` and `1`; prints as a percentage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ratio {
    /// 0 is none, 10^9 is the whole.
    parts: u64,
}

impl Ratio {
    const WHOLE: u64 = 1_000_000_000;
    /// None of it.
    pub const ZERO: Self = Self { parts: 0 };
    /// All of it.
    pub const ONE: Self = Self { parts: Self::WHOLE };

    /// `percent` hundredths.
    pub const fn percent(percent: u64) -> Self {
        Self { parts: percent * (Self::WHOLE / 100) }
    }

    /// `parts` parts of 10^9.
    pub const fn from_billionths(parts: u64) -> Self {
        Self { parts }
    }

    /// The number of parts of 10^9.
    pub const fn billionths(self) -> u64 {
        self.parts
    }

    /// The nearest float, for statistics and for people.
    #[expect(clippy::cast_precision_loss, reason = "below 2^53 for every ratio up to 9 million")]
    pub fn to_f64(self) -> f64 {
        self.parts as f64 / 1e9
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 10^7 parts are a percent, so seven digits behind the point are exact.
        let (whole, rest) = (self.parts / 10_000_000, self.parts % 10_000_000);
        if rest == 0 {
            return f.pad(&format!("{whole}%"));
        }
        let fraction = format!("{rest:07}");
        f.pad(&format!("{whole}.{}%", fraction.trim_end_matches('0')))
    }
}

impl FromStr for Ratio {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let wanted = "a share such as `3%` or `0.03`";
        let error = || ParseUnitError { text: text.to_owned(), wanted };
        let (number, unit) = split_number(text).ok_or_else(error)?;
        let parts = match unit {
            "" => number,
            // Seven decimals of a percent are exact; more are refused, not rounded.
            "%" if number.is_multiple_of(100) => number / 100,
            _ => return Err(error()),
        };
        Ok(Self { parts: u64::try_from(parts).map_err(|_| error())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_parse_as_percent_or_fraction() {
        let check = |text: &str, expected: Option<Ratio>| {
            assert_eq!(text.parse::<Ratio>().ok(), expected, "{text}");
        };
        check("3%", Some(Ratio::percent(3)));
        check("0.03", Some(Ratio::percent(3)));
        check("1", Some(Ratio::ONE));
        check("0.5%", Some(Ratio::from_billionths(5_000_000)));
        check("three", None);
        check("3 percent", None);
        check("-3%", None);
    }

    proptest::proptest! {
        #[test]
        fn printing_and_parsing_are_inverse(parts: u64) {
            let ratio = Ratio::from_billionths(parts);
            assert_eq!(ratio.to_string().parse(), Ok(ratio));
        }
    }
}
