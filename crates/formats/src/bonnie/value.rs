//! The values of bonnie++ with their special spellings.

use super::column::Kind;
use drivelab_core::csv::quote;
use drivelab_core::{Invalid, invalid};

/// The content of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value {
    /// Empty: the phase was not run.
    NotRun,
    /// `+++++`: the phase took less than half a second.
    TooFast,
    /// A number, in the unit of the column.
    Number(f64),
}

impl Value {
    /// The number, if it is one.
    pub(super) fn number(self) -> Option<f64> {
        match self {
            Self::Number(value) => Some(value),
            Self::NotRun | Self::TooFast => None,
        }
    }
}

/// More than any real machine: a mistake or a broken file.
const RATE_MAX: f64 = 1e12;
/// Five threads may each be charged for the whole process, and a core more than once.
const CPU_MAX: f64 = 1e6;
/// Ten thousand days in microseconds.
const LATENCY_MAX: f64 = 1e15;

/// Reads a column, or states its error.
pub(super) fn read(text: &str, kind: Kind) -> Result<Value, Invalid> {
    if text.is_empty() {
        return Ok(Value::NotRun);
    }
    if text.chars().all(|c| c == '+') {
        return Ok(Value::TooFast);
    }
    let (number, scale, max) = match kind {
        Kind::Rate => (text, 1.0, RATE_MAX),
        Kind::Cpu => (text, 1.0, CPU_MAX),
        Kind::Latency => {
            let (number, scale) =
                microseconds(text).ok_or_else(|| format!("{} is not a time", quote(text)))?;
            (number, scale, LATENCY_MAX)
        }
    };
    // Rust's parser also takes `inf`, `nan` and `1e5`, which bonnie++ never writes.
    let is_decimal = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let value = number.parse::<f64>().ok().filter(|_| is_decimal);
    let value = value.ok_or_else(|| format!("{} is not a number", quote(text)))? * scale;
    if value > max {
        return Err(invalid!("{} is absurd", quote(text)));
    }
    Ok(Value::Number(value))
}

/// A time split into its number and its factor to microseconds.
fn microseconds(text: &str) -> Option<(&str, f64)> {
    // Seconds last: the other two end with the same letter.
    let units = [("us", 1.0), ("ms", 1e3), ("s", 1e6)];
    units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, *scale)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_with_their_units() {
        let check = |text, kind, expected| assert_eq!(read(text, kind), expected, "{text}");
        check("", Kind::Rate, Ok(Value::NotRun));
        check("+++++", Kind::Rate, Ok(Value::TooFast));
        check("+++", Kind::Cpu, Ok(Value::TooFast));
        check("228.9", Kind::Rate, Ok(Value::Number(228.9)));
        check("48125us", Kind::Latency, Ok(Value::Number(48_125.0)));
        check("1645ms", Kind::Latency, Ok(Value::Number(1_645_000.0)));
        check("12s", Kind::Latency, Ok(Value::Number(12_000_000.0)));
        check("-5", Kind::Rate, Err("`-5` is not a number".into()));
        check("inf", Kind::Rate, Err("`inf` is not a number".into()));
        check("1e9", Kind::Rate, Err("`1e9` is not a number".into()));
        check("9999999999999999", Kind::Rate, Err("`9999999999999999` is absurd".into()));
        check("17", Kind::Latency, Err("`17` is not a time".into()));
    }
}
