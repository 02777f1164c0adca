//! Quantities with their unit in the type; each parses and prints itself.
//!
//! Printing is exact: `FromStr` reads the output of `Display` back to the same value, so the
//! command line, a study file, a record and a log use the same notation.

mod bytes;
mod ratio;
mod sector;
mod time;

pub use bytes::Bytes;
pub use ratio::Ratio;
pub use sector::{Lba, SECTOR_BYTES, Sectors};
pub use time::{Span, Time};

use crate::Invalid;

/// The reason why a quantity could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {wanted}")]
pub struct ParseUnitError {
    /// The given text.
    pub text: String,
    /// The accepted form, with examples.
    pub wanted: &'static str,
}

impl From<ParseUnitError> for Invalid {
    fn from(error: ParseUnitError) -> Self {
        Self(error.to_string())
    }
}

/// Splits `12.5ms` into its decimal number, scaled by 10^9, and its unit.
///
/// Nine decimals can represent a nanosecond in a second and a byte in a gibibyte; more are refused
/// rather than rounded. Returns `None` if there is no number, or one that does not fit.
pub(crate) fn split_number(text: &str) -> Option<(u128, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || fraction.len() > 9 {
        return None;
    }
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let scale = 10_u128.pow(9 - u32::try_from(fraction.len()).ok()?);
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    // Scaled by 10^9 in integers: no float rounds a value on its way from a file to a run.
    let nanos = whole.checked_mul(1_000_000_000)?.checked_add(fraction * scale)?;
    debug_assert!(fraction * scale < 1_000_000_000);
    Some((nanos, unit.trim_start()))
}

/// Implements serde through `Display` and `FromStr`, so that files contain `4k` and `30s`.
macro_rules! serde_as_text {
    ($($unit:ty),+) => {$(
        impl serde::Serialize for $unit {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $unit {
            fn deserialize<D: serde::Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(source)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}
serde_as_text!(Bytes, Span, Ratio);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_split_from_their_unit() {
        let check = |text, expected| assert_eq!(split_number(text), expected, "{text}");
        check("4k", Some((4_000_000_000, "k")));
        check("1.5 ms", Some((1_500_000_000, "ms")));
        check(".5", Some((500_000_000, "")));
        check("", None);
        check(".", None);
        check("-1s", None);
        check("1.2.3s", None);
        check("1.0000000001s", None);
        check("99999999999999999999999999999999999999999s", None);
    }
}
