//! Amounts of data.

use std::fmt;
use std::str::FromStr;

use super::{ParseUnitError, split_number};

/// An amount of data in bytes; `k`, `M`, `G`, `T` are powers of two, as in fio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes {
    bytes: u64,
}

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self { bytes: 0 };

    /// An amount of `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self { bytes }
    }

    /// An amount of `kib` times 1024 bytes.
    pub const fn kib(kib: u64) -> Self {
        Self { bytes: kib << 10 }
    }

    /// An amount of `mib` times 1024^2 bytes.
    pub const fn mib(mib: u64) -> Self {
        Self { bytes: mib << 20 }
    }

    /// An amount of `gib` times 1024^3 bytes.
    pub const fn gib(gib: u64) -> Self {
        Self { bytes: gib << 30 }
    }

    /// For people: one decimal of the largest suitable unit, `23.5 GiB`.
    pub fn about(self) -> String {
        let mut units = UNITS.iter();
        let Some((name, shift)) = units.find(|(_, shift)| self.bytes >> shift > 0) else {
            return format!("{} bytes", self.bytes);
        };
        // Rounded to the nearest tenth: half a tenth of a unit is added before the shift.
        let tenths = (u128::from(self.bytes) * 10 + (1 << (shift - 1))) >> shift;
        let (whole, rest) = (tenths / 10, tenths % 10);
        let name = name.to_ascii_uppercase();
        if rest == 0 { format!("{whole} {name}iB") } else { format!("{whole}.{rest} {name}iB") }
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.bytes
    }
}

const UNITS: [(char, u32); 5] = [('P', 50), ('T', 40), ('G', 30), ('M', 20), ('k', 10)];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Exact, so only a unit that divides the amount: 1536 prints as `1536`, not `1.5k`.
        let mut units = UNITS.iter();
        match units.find(|(_, shift)| self.bytes != 0 && self.bytes.is_multiple_of(1 << shift)) {
            Some((name, shift)) => f.pad(&format!("{}{name}", self.bytes >> shift)),
            None => f.pad(&self.bytes.to_string()),
        }
    }
}

impl FromStr for Bytes {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let wanted = "a size such as `512`, `4k`, `1M` or `200G` (powers of two)";
        let error = || ParseUnitError { text: text.to_owned(), wanted };
        let (number, unit) = split_number(text).ok_or_else(error)?;
        // `kB` is omitted on purpose: half the tools mean 1000 by it and half 1024.
        let unit = unit.strip_suffix("iB").or(unit.strip_suffix("ib")).unwrap_or(unit);
        let shift = match unit {
            "" | "B" => 0,
            unit => {
                let mut units = UNITS.iter();
                let unit = units.find(|(name, _)| unit.eq_ignore_ascii_case(&name.to_string()));
                unit.ok_or_else(error)?.1
            }
        };
        let scaled = number.checked_mul(1 << shift).ok_or_else(error)?;
        // A part of a byte is refused, not rounded.
        if !scaled.is_multiple_of(1_000_000_000) {
            return Err(error());
        }
        let bytes = u64::try_from(scaled / 1_000_000_000).map_err(|_| error())?;
        Ok(Self { bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_as_powers_of_two() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(text.parse::<Bytes>().ok().map(Bytes::get), expected, "{text}");
        };
        check("512", Some(512));
        check("4k", Some(4096));
        check("4K", Some(4096));
        check("4KiB", Some(4096));
        check("1.5M", Some(1_572_864));
        check("200G", Some(200 << 30));
        check("4kB", None);
        check("0.3", None);
        check("", None);
        check("-4k", None);
        check("99999999P", None);
    }

    #[test]
    fn people_read_one_decimal_of_a_fitting_unit() {
        let check = |bytes: Bytes, expected| assert_eq!(bytes.about(), expected);
        check(Bytes::new(0), "0 bytes");
        check(Bytes::new(512), "512 bytes");
        check(Bytes::kib(4), "4 KiB");
        check(Bytes::kib(24_684_092), "23.5 GiB");
        check(Bytes::new(1_048_575), "1024 KiB");
        check(Bytes::new(u64::MAX), "16384 PiB");
    }

    proptest::proptest! {
        #[test]
        fn printing_and_parsing_are_inverse(bytes: u64) {
            let amount = Bytes::new(bytes);
            assert_eq!(amount.to_string().parse(), Ok(amount));
        }
    }
}
