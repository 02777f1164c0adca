//! Numbers in fio's notation.

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    None,
    Bytes,
    BytesPerS,
}

/// A number of at most `digits` digits, with a prefix of powers of 1000, or of 1024 if `binary`
/// (fio's `num2str`).
pub(super) fn short(mut number: u64, digits: usize, binary: bool, unit: Unit) -> String {
    const PREFIXES: [&str; 6] = ["", "k", "M", "G", "T", "P"];
    let thousand = if binary { 1024 } else { 1000 };
    let (mut power, mut rest) = (0, None);
    while number.to_string().len() > digits && power + 1 < PREFIXES.len() {
        rest = Some(number % thousand);
        number /= thousand;
        power += 1;
    }
    debug_assert!(digits > 3, "three digits and a point always fit");
    let length = number.to_string().len();
    let mut fraction = String::new();
    if let Some(rest) = rest {
        if length + 1 >= digits {
            // No room for decimals.
            number += u64::from(rest >= thousand / 2);
        } else {
            let decimals = digits - length - 1;
            let part = super::figures::ratio(rest, thousand);
            // `0.96`: the digits behind the point.
            fraction = format!("{part:.decimals$}").split_off(1);
        }
    }
    let prefix = PREFIXES[power];
    let prefix = match (binary && power > 0, prefix) {
        (true, "k") => "Ki".to_owned(),
        (true, prefix) => format!("{prefix}i"),
        (false, prefix) => prefix.to_owned(),
    };
    let unit = match unit {
        Unit::None => "",
        Unit::Bytes => "B",
        Unit::BytesPerS => "B/s",
    };
    format!("{number}{fraction}{prefix}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_short_as_those_of_fio() {
        let check = |number, digits, binary, unit, expected: &str| {
            assert_eq!(short(number, digits, binary, unit), expected);
        };
        // Seen in results of fio 3.33.
        check(10_782, 4, false, Unit::None, "10.8k");
        check(205_000, 4, false, Unit::None, "205k");
        check(4129, 4, false, Unit::None, "4129");
        check(16_913_032, 4, true, Unit::BytesPerS, "16.1MiB/s");
        check(16_913_032, 4, false, Unit::BytesPerS, "16.9MB/s");
        check(838_860_800, 4, true, Unit::BytesPerS, "800MiB/s");
        check(2_097_152, 4, true, Unit::Bytes, "2048KiB");
        check(2_097_152, 4, false, Unit::Bytes, "2097kB");
        check(4096, 4, true, Unit::Bytes, "4096B");
        check(2_396_200, 6, false, Unit::None, "2396.2k");
    }
}
