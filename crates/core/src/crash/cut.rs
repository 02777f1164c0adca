//! One power cut, in the form in which it is repeated.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::units::{Span, Time};

/// The data in a volatile cache that survives a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Only durable data.
    Nothing,
    /// All data that the drive had received.
    Everything,
    /// A random selection, drawn with this seed.
    Drawn(u32),
    /// The possible outcome with this number: together they are all that the rules allow.
    Numbered(u64),
}

/// Seeds from here on number the possible outcomes.
const NUMBERED: u64 = 1 << 32;

impl Outcome {
    /// The seed of the outcome.
    pub fn seed(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Everything => 1,
            Self::Drawn(seed) => u64::from(seed),
            Self::Numbered(number) => NUMBERED.saturating_add(number),
        }
    }

    /// The outcome of a seed.
    pub fn of_seed(seed: u64) -> Self {
        match (seed, u32::try_from(seed)) {
            (0, _) => Self::Nothing,
            (1, _) => Self::Everything,
            (_, Ok(drawn)) => Self::Drawn(drawn),
            // 0 and 1 are taken above, and what exceeds 32 bits is at least `NUMBERED`.
            (_, Err(_)) => Self::Numbered(seed - NUMBERED),
        }
    }
}

/// A power cut: at an instant, with an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cut {
    /// Instant of the cut: no event at this instant or later happens.
    pub at: Time,
    /// The surviving data.
    pub outcome: Outcome,
}

/// `SEED@INSTANT`, as in `7@12.5s`.
impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.outcome.seed(), self.at)
    }
}

impl FromStr for Cut {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (seed, at) = text.split_once('@').ok_or_else(|| not_a_cut(text))?;
        let outcome = Outcome::of_seed(seed.parse().map_err(|_| not_a_cut(text))?);
        let at: Span = at.parse().map_err(|_| not_a_cut(text))?;
        Ok(Self { at: Time::ZERO + at, outcome })
    }
}

fn not_a_cut(text: &str) -> String {
    format!("`{text}` is not SEED@INSTANT, such as `7@12.5s`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_read_as_it_is_printed() {
        let check = |seed: u64, ns: u64, expected: &str| {
            let cut = Cut { at: Time::from_ns(ns), outcome: Outcome::of_seed(seed) };
            assert_eq!((cut.to_string().as_str(), cut.outcome.seed()), (expected, seed));
            assert_eq!(expected.parse(), Ok(cut));
        };
        check(0, 1_500_000_000, "0@1.5s");
        check(1, 77, "1@77ns");
        check(u64::from(u32::MAX), 0, "4294967295@0s");
        check(NUMBERED, 3_000_000_001, "4294967296@3.000000001s");
        check(u64::MAX, u64::MAX, "18446744073709551615@18446744073.709551615s");
        for wrong in ["", "7", "@1s", "7@", "-1@1s", "7@1", "7@x"] {
            assert!(wrong.parse::<Cut>().unwrap_err().0.contains("SEED@INSTANT"), "{wrong}");
        }
    }
}
