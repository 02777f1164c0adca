//! Numbers with a suffix or a unit, as tools print them for people.

use crate::found::decimal;

/// Bytes of a MiB.
pub(crate) const MIB: f64 = 1_048_576.0;
/// The percentiles that are compared: name, share, and the number of requests that each needs, a
/// hundred beyond it, as for drivelab's runs.
pub(crate) const PERCENTILES: [(&str, f64, f64); 3] =
    [("p50", 0.5, 200.0), ("p99", 0.99, 10_000.0), ("p99_9", 0.999, 100_000.0)];

/// The meaning of a comma within a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comma {
    /// `2,523` is two thousand.
    Thousands,
    /// `2,523` is between two and three: the language of the terminal decides.
    Decimal,
}

/// A number, and the text after it without blanks: `148KiB/s` is 148 and `KiB/s`.
pub(crate) fn split(text: &str, comma: Comma) -> Option<(f64, &str)> {
    let text = text.trim();
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    debug_assert!(digits.is_ascii(), "only digits and their marks");
    let value = match comma {
        _ if !digits.contains(',') => decimal(digits),
        Comma::Thousands => decimal(&digits.replace(',', "")),
        Comma::Decimal => decimal(&digits.replace(',', ".")),
    };
    Some((value.filter(|_| !digits.is_empty())?, unit.trim_start()))
}

/// A count with the suffix of a power of 1000: `67.4k`, `1.2 M`, `990`.
pub(crate) fn count(text: &str) -> Option<f64> {
    let (value, suffix) = split(text, Comma::Thousands)?;
    Some(value * power(suffix, 1000.0)?)
}

/// The factor of `k`, `M`, `G`, `T` or `P`; 1 for no letter.
fn power(letter: &str, kilo: f64) -> Option<f64> {
    assert!(kilo >= 1000.0, "a thousand, or 1024");
    let exponent = match letter {
        "" => 0,
        "k" | "K" => 1,
        "m" | "M" => 2,
        "g" | "G" => 3,
        "t" | "T" => 4,
        "p" | "P" => 5,
        _ => return None,
    };
    Some(kilo.powi(exponent))
}

/// The bytes of a unit: `KiB` is always 1024, `kB` and `KB` are what the tool means by them.
///
/// `Kbit` and `Mibit` are eighths: fio prints them with `unit_base=1`.
pub(crate) fn bytes_of(unit: &str, kilo: f64) -> Option<f64> {
    if let Some(letter) = unit.strip_suffix("bit") {
        return Some(bytes_of(&format!("{letter}B"), kilo)? / 8.0);
    }
    let letter = unit.strip_suffix("Bytes").or_else(|| unit.strip_suffix('B'))?;
    match letter.strip_suffix('i') {
        Some(letter) if !letter.is_empty() => power(letter, 1024.0),
        _ => power(letter, kilo),
    }
}

/// A rate in bytes per second: `148KiB/s`, `1.3 GB/s`, `120.33 MB/sec`.
pub(crate) fn bytes_per_s(text: &str, kilo: f64, comma: Comma) -> Option<f64> {
    let (value, unit) = split(text, comma)?;
    let unit = ["/sec", "/s"].iter().find_map(|end| unit.trim_end().strip_suffix(end))?;
    Some(value * bytes_of(unit, kilo)?)
}

/// The nanoseconds of a unit of time.
pub(crate) fn ns_of(unit: &str) -> Option<f64> {
    Some(match unit.trim_end() {
        "ns" | "nsec" => 1.0,
        "us" | "usec" | "µs" | "μs" => 1e3,
        "ms" | "msec" => 1e6,
        "s" | "sec" | "secs" | "seconds" => 1e9,
        "min" => 60e9,
        "hour" | "hours" | "h" => 3600e9,
        _ => return None,
    })
}

/// A time in nanoseconds: `296 us`, `1.5 min`.
pub(crate) fn time_ns(text: &str) -> Option<f64> {
    let (value, unit) = split(text, Comma::Decimal)?;
    Some(value * ns_of(unit)?)
}

/// The word after `key` in a line: of `min=   24, max=  272`, `24` is the one after `min=`.
pub(crate) fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let rest = text.split_once(key)?.1.trim_start();
    let end = rest.find(|c: char| c.is_whitespace() || c == '(' || c == ';').unwrap_or(rest.len());
    Some(rest[..end].trim_end_matches(','))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_suffixes_and_commas() {
        let check = |text, expected| assert_eq!(count(text), expected, "{text}");
        check("67.4k", Some(67_400.0));
        check("1.8 k", Some(1800.0));
        check("1,325K", Some(1_325_000.0));
        check("990", Some(990.0));
        check("12x", None);
        check("", None);
        assert_eq!(split("1,52203 s", Comma::Decimal), Some((1.52203, "s")));
    }

    #[test]
    fn units_are_those_that_the_text_names() {
        let check = |text, kilo, expected| {
            assert_eq!(bytes_per_s(text, kilo, Comma::Thousands), expected, "{text}");
        };
        check("148KiB/s", 1000.0, Some(151_552.0));
        check("2,523KB/s", 1024.0, Some(2_583_552.0));
        check("1.5 GB/s", 1000.0, Some(1.5e9));
        check("512B/s", 1000.0, Some(512.0));
        check("120 MB/sec", 1024.0, Some(125_829_120.0));
        check("975760Kbit/s", 1024.0, Some(124_897_280.0));
        check("12 parsecs", 1000.0, None);
        assert_eq!(time_ns("1.5 min"), Some(90e9));
        assert_eq!(time_ns("296 us"), Some(296e3));
        assert_eq!(after("slat: min=   24, max=  272", "min="), Some("24"));
    }
}
