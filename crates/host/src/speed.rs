//! The rate of a link.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The rate of a link in Mb/s on the wire; JSON has it in Gb/s, the usual unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Speed {
    mbps: u32,
}

impl Speed {
    /// A rate of `mbps` megabits (for PCIe: megatransfers) per second.
    pub const fn mbps(mbps: u32) -> Self {
        Self { mbps }
    }

    /// The rate in megabits per second.
    pub const fn get(self) -> u32 {
        self.mbps
    }

    /// Reads `3.0 Gbps`, `8.0 GT/s PCIe`, `6.0 Gbit`, `1.5Gbps`; `None` for `<unknown>`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_start();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let unit = text[end..].trim_start();
        if !(unit.starts_with("Gb") || unit.starts_with("GT")) {
            return None;
        }
        Self::of_giga(&text[..end])
    }

    fn of_giga(number: &str) -> Option<Self> {
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.len() > 3 || fraction.contains('.') {
            return None;
        }
        let thousandths: u32 = format!("{fraction:0<3}").parse().ok()?;
        let mbps = whole.parse::<u32>().ok()?.checked_mul(1000)?.checked_add(thousandths)?;
        (mbps > 0).then_some(Self { mbps })
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.mbps / 1000, self.mbps % 1000);
        if rest.is_multiple_of(100) {
            return write!(f, "{whole}.{}", rest / 100);
        }
        write!(f, "{whole}.{rest:03}")
    }
}

impl Serialize for Speed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.mbps) / 1000.0)
    }
}

impl<'de> Deserialize<'de> for Speed {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let gbps = f64::deserialize(source)?;
        Self::of_giga(&format!("{gbps:.3}")).ok_or_else(|| {
            serde::de::Error::custom("a speed is a number of Gb/s with three decimals")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_read_as_the_kernel_writes_them() {
        let check = |text, expected: Option<u32>| {
            assert_eq!(Speed::parse(text).map(Speed::get), expected, "{text}");
        };
        check("1.5 Gbps", Some(1500));
        check("3.0 Gbps (SStatus 123 SControl 300)", Some(3000));
        check("1.5Gbps", Some(1500));
        check("6 Gbps", Some(6000));
        check("8.0 GT/s PCIe", Some(8000));
        check("2.5 GT/s", Some(2500));
        check("12.0 Gbit", Some(12000));
        check("<unknown>", None);
        check("Unknown", None);
        check("", None);
        check("3.0", None);
        check("99999999 Gbps", None);
        check("1.2.3 Gbps", None);
        check("0.0 Gbps", None);
    }

    #[test]
    fn json_has_gigabits_and_reads_back() {
        let json = |mbps| serde_json::to_string(&Speed::mbps(mbps)).unwrap();
        assert_eq!([json(1500), json(6000), json(31_504)], ["1.5", "6.0", "31.504"]);
        for mbps in [1500, 480, 31_504, 64_000] {
            assert_eq!(serde_json::from_str::<Speed>(&json(mbps)).unwrap(), Speed::mbps(mbps));
        }
        assert_eq!(serde_json::from_str::<Speed>("-1").ok(), None);
    }
}
