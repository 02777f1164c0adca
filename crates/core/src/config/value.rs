//! Types that can be read from one value of a file or of a `key=value` option.

use crate::units::{Bytes, Ratio, Span};
use crate::{Invalid, invalid};

/// A type that is read from the text of one value.
///
/// Numbers and strings are read in the same way, so `bs = 4096`, `bs = "4k"` and `bs=4k` all work.
pub trait Value: Sized {
    /// Reads the value.
    ///
    /// # Errors
    /// One sentence: what was found and what would be accepted.
    fn read(text: &str) -> Result<Self, Invalid>;
}

impl Value for String {
    fn read(text: &str) -> Result<Self, Invalid> {
        Ok(text.to_owned())
    }
}

impl Value for bool {
    fn read(text: &str) -> Result<Self, Invalid> {
        // Both conventions: fio's `0` and `1`, and the words that people write.
        match text {
            "true" | "on" | "yes" | "1" => Ok(true),
            "false" | "off" | "no" | "0" => Ok(false),
            _ => Err(invalid!("`{text}` is neither `on` nor `off`")),
        }
    }
}

impl Value for f64 {
    fn read(text: &str) -> Result<Self, Invalid> {
        // `nan` and `inf` parse as well, and would spread through every figure that depends on
        // them.
        let number: Option<f64> = text.parse().ok();
        number
            .filter(|number| number.is_finite())
            .ok_or_else(|| invalid!("`{text}` is not a number"))
    }
}

macro_rules! whole_number {
    ($($number:ty),+) => {$(
        impl Value for $number {
            fn read(text: &str) -> Result<Self, Invalid> {
                // TOML's own integers may group digits; a number in quotes may, too.
                text.replace('_', "").parse().map_err(|_| {
                    let most = <$number>::MAX;
                    invalid!("`{text}` is not a whole number from 0 to {most}")
                })
            }
        }
    )+};
}
whole_number!(u16, u32, u64, usize);

macro_rules! unit {
    ($($unit:ty),+) => {$(
        impl Value for $unit {
            fn read(text: &str) -> Result<Self, Invalid> {
                Ok(text.parse::<Self>()?)
            }
        }
    )+};
}
unit!(Bytes, Ratio, Span);
