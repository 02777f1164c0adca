//! Values in fio's notation.

use drivelab_core::Refusal;
use drivelab_core::config::Value;
use drivelab_core::units::{Bytes, Span};

/// The base of `k`, `m`, `g` and `t` (fio's `kb_base`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Base {
    /// `k` is 1024 and `kib` is 1000: fio's default, swapped for compatibility with old files.
    #[default]
    Swapped,
    /// `k` is 1000 and `kib` is 1024, as in the standard.
    Standard,
}

/// The meaning of a suffix, compared with its spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    Expected,
    /// `KiB` that is 1000.
    SwappedToTen,
    /// `Ki` that is 1000: fio recognises the `i` only before a `B`.
    WithoutB,
}

impl Base {
    pub(super) fn read(value: &str) -> Result<Self, Refusal> {
        match value {
            "1024" => Ok(Self::Swapped),
            "1000" => Ok(Self::Standard),
            _ => Err(Refusal::request("`kb_base` is `1024` or `1000`")),
        }
    }

    /// A number with fio's suffix. Only `ib` changes the base: `Ki` is the same as `k`.
    pub(super) fn number(self, key: &str, value: &str) -> Result<(u64, Scale), Refusal> {
        let lower = value.to_ascii_lowercase();
        if let Some(digits) = lower.strip_prefix("0x") {
            let number = u64::from_str_radix(digits, 16).map_err(|_| not_a_number(key, value))?;
            return Ok((number, Scale::Expected));
        }
        let end = lower.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(lower.len());
        let (digits, unit) = lower.split_at(end);
        let is_swapped = unit.ends_with("ib");
        // fio ignores a final `b`: `kb` is `k`.
        let unit = unit.strip_suffix('b').unwrap_or(unit);
        let (unit, marked) = unit.strip_suffix('i').map_or((unit, false), |unit| (unit, true));
        let power = match unit {
            "" if !marked => 0,
            "k" => 1,
            "m" => 2,
            "g" => 3,
            "t" => 4,
            "p" => 5,
            _ => return Err(not_a_number(key, value)),
        };
        let is_thousands = is_swapped == (self == Self::Swapped);
        let kilo: u64 = if is_thousands { 1000 } else { 1024 };
        // Programs write `16777216.0`; any other fraction is one that fio misreads.
        let digits =
            if unit.is_empty() { digits.strip_suffix(".0").unwrap_or(digits) } else { digits };
        let number: u64 = digits.trim().parse().map_err(|_| not_a_number(key, value))?;
        let number = number.checked_mul(kilo.pow(power));
        let number = number.ok_or_else(|| not_a_number(key, value))?;
        let scale = match (marked && is_thousands, self) {
            (false, _) => Scale::Expected,
            (true, Self::Swapped) => Scale::SwappedToTen,
            (true, Self::Standard) => Scale::WithoutB,
        };
        Ok((number, scale))
    }
}

fn not_a_number(key: &str, value: &str) -> Refusal {
    Refusal::request(format!("`{key}`: `{value}` is not a number such as `64` or `4k`"))
}

/// The largest offset of a file (`off_t`, 63 bits): the sum of two still fits.
pub(super) const OFFSET_MAX: u64 = i64::MAX as u64;

/// One value each for reads, writes and trims: `4k`, `4k,64k`, `,64k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sided<T> {
    pub(super) read: Option<T>,
    pub(super) write: Option<T>,
    pub(super) trim: Option<T>,
}

impl<T: Copy> Sided<T> {
    /// The last value also applies to the rest.
    pub(super) fn parse(
        value: &str,
        mut read: impl FnMut(&str) -> Result<T, Refusal>,
    ) -> Result<Self, Refusal> {
        let mut given = value.split(',').map(str::trim);
        let (mut sides, mut last) = ([None; 3], None);
        for side in &mut sides {
            last = match given.next() {
                Some("") => None,
                Some(text) => Some(read(text)?),
                None => last,
            };
            *side = last;
        }
        let [read, write, trim] = sides;
        Ok(Self { read, write, trim })
    }
}

impl<T: Copy + PartialEq> Sided<T> {
    /// The value, which must be the same for reads, writes and trims.
    pub(super) fn alike(self, key: &str) -> Result<T, Refusal> {
        let Self { read, write, trim } = self;
        read.filter(|_| read == write && write == trim).ok_or_else(|| differs(key))
    }
}

/// The refusal of reads and writes that cannot be one job.
pub(super) fn differs(key: &str) -> Refusal {
    Refusal::request(format!("`{key}` differs between reads and writes"))
        .hint("give reads and writes separate sections: they start together")
}

/// A part of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Bytes(Bytes),
    /// Percent of the whole.
    Percent(u64),
}

impl Part {
    /// Bytes of a target of `length`; `None` if that is needed and unknown.
    pub(super) fn of(self, length: Option<Bytes>) -> Option<Bytes> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Percent(percent) => {
                // In 128 bits: a percentage of a large device overflows 64.
                let part = u128::from(length?.get()) * u128::from(percent) / 100;
                u64::try_from(part).ok().map(Bytes::new)
            }
        }
    }
}

pub(super) fn read<T: Value>(key: &str, value: &str) -> Result<T, Refusal> {
    T::read(value).map_err(|wrong| Refusal::request(format!("`{key}`: {wrong}")))
}

/// A flag alone is set, as in fio, and so is one with any number but 0: `time_based=600`.
pub(super) fn switch(key: &str, value: &str) -> Result<bool, Refusal> {
    match value.parse::<u64>() {
        Ok(number) => Ok(number > 0),
        Err(_) if value.is_empty() => Ok(true),
        Err(_) => read(key, value),
    }
}

/// As `switch`, of the options for which fio refuses any number above 1.
pub(super) fn zero_or_one(key: &str, value: &str) -> Result<bool, Refusal> {
    if value.is_empty() {
        return Ok(true);
    }
    bool::read(value)
        .map_err(|_| Refusal::request(format!("`{key}`: `{value}` is neither 0 nor 1")))
}

/// A plain number is in `unit`. Hours, minutes and seconds may be separated by colons, a day has 24
/// hours.
pub(super) fn time(key: &str, value: &str, unit: &str) -> Result<Span, Refusal> {
    let lower = value.to_ascii_lowercase();
    if lower.contains(':') {
        let parts: Result<Vec<u64>, _> = lower.split(':').map(str::parse).collect();
        let factors = [1_u64, 60, 3_600, 86_400];
        let parts = parts.ok().filter(|parts| parts.len() <= factors.len());
        let parts = parts.ok_or_else(|| {
            Refusal::request(format!("`{key}`: `{value}` is not a time such as `1:30:00`"))
        })?;
        let seconds = parts
            .iter()
            .rev()
            .zip(factors)
            .try_fold(0_u64, |sum, (part, factor)| sum.checked_add(part.checked_mul(factor)?));
        return span_of(key, value, seconds);
    }
    let bare = lower.bytes().all(|byte| byte.is_ascii_digit());
    let days = lower.strip_suffix('d').and_then(|days| days.parse::<u64>().ok());
    match days {
        Some(days) => span_of(key, value, days.checked_mul(86_400)),
        None if bare => read(key, &format!("{lower}{unit}")),
        None => read(key, &lower),
    }
}

/// A number of seconds as a span; `None` is more than 64 bits hold.
fn span_of(key: &str, value: &str, seconds: Option<u64>) -> Result<Span, Refusal> {
    seconds.and_then(Span::checked_from_secs).ok_or_else(|| {
        Refusal::request(format!("`{key}`: `{value}` is longer than 584 years, the maximum"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_those_of_fio() {
        let check = |base: Base, text: &str, expected: Option<u64>| {
            let number = base.number("bs", text).ok().map(|(number, _)| number);
            assert_eq!(number, expected, "{text}");
        };
        for (text, swapped, standard) in [
            ("4k", 4096, 4000),
            ("4KiB", 4000, 4096),
            ("4Ki", 4096, 4000),
            ("1gb", 1 << 30, 1_000_000_000),
        ] {
            check(Base::Swapped, text, Some(swapped));
            check(Base::Standard, text, Some(standard));
        }
        check(Base::Swapped, "512", Some(512));
        check(Base::Swapped, "512b", Some(512));
        check(Base::Swapped, "0x2000", Some(8192));
        check(Base::Swapped, "0x", None);
        check(Base::Swapped, "4x", None);
        check(Base::Swapped, "k", None);
        check(Base::Swapped, "5*1024", None);
        check(Base::Swapped, "16777216.0", Some(16 << 20));
        check(Base::Swapped, "0.5m", None);
        check(Base::Swapped, "1.0k", None);
        check(Base::Swapped, "99999999p", None);
    }

    #[test]
    fn times_have_units_of_their_own() {
        let check = |text: &str, seconds| {
            assert_eq!(time("runtime", text, "s").ok(), Some(Span::from_secs(seconds)), "{text}");
        };
        check("60", 60);
        check("2m", 120);
        check("1H", 3600);
        check("1d", 86_400);
        check("1:30", 90);
        check("1:00:05", 3605);
        for wrong in ["1:x", "soon", "1:1:1:1:1"] {
            assert_eq!(time("runtime", wrong, "s").ok(), None, "{wrong}");
        }
    }
}
