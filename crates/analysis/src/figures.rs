//! Numbers as people read them: three significant digits and a unit.

/// Three significant digits, never an exponent between a thousandth and a million.
///
/// ```
/// use drivelab_analysis::figures::significant;
/// assert_eq!(significant(76.249), "76.2");
/// assert_eq!(significant(0.98071), "0.981");
/// ```
pub fn significant(value: f64) -> String {
    // The exponent is taken after rounding: 9.996 is 10.0, not 10.00.
    let rounded = format!("{value:.2e}");
    let exponent = rounded.split_once('e').and_then(|(_, e)| e.parse::<i32>().ok());
    match exponent {
        None => format!("{value}"),
        Some(_) if value == 0.0 => "0".to_owned(),
        Some(-3..=5) => {
            let decimals = usize::try_from(2 - exponent.unwrap_or(0)).unwrap_or(0);
            format!("{value:.decimals$}")
        }
        Some(_) => rounded,
    }
}

/// A number as it was written: whole where it is, else as short as it is exact.
pub fn plain(value: f64) -> String {
    let text = format!("{value}");
    // More digits than this are those of a calculation, not of a measurement.
    if text.len() <= 16 { text } else { significant(value) }
}

/// A ratio: near one, where a percent counts, to three decimals; else to three digits.
pub fn ratio(value: f64) -> String {
    if (0.9..1.1).contains(&value) { format!("{value:.3}") } else { significant(value) }
}

/// A ratio as a factor, `x1.53`.
pub fn times(value: f64) -> String {
    format!("x{}", ratio(value))
}

/// The limits of a ratio, `1.48 to 1.58`; both with as many decimals where one is near one, and a
/// single number where both read the same.
pub fn range([lo, hi]: [f64; 2]) -> String {
    // Near 1 both limits have the same number of decimals.
    let [lo, hi] = if lo < 1.1 && hi >= 0.9 && hi < 1.5 * lo {
        [lo, hi].map(|limit| format!("{limit:.3}"))
    } else {
        [lo, hi].map(ratio)
    };
    if lo == hi { lo } else { format!("{lo} to {hi}") }
}

/// By how much a ratio differs from one, without its sign: `6.1 %`, `72 %`. All of something,
/// `100 %`, is said only where the ratio is 0.
pub fn percent_change(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0).abs();
    // A loss of nearly all must not read as one of all.
    if ratio > 0.0 && ratio < 1.0 && percent >= 99.5 {
        return match percent {
            99.995.. => "more than 99.99 %".to_owned(),
            99.95.. => format!("{percent:.2} %"),
            _ => format!("{percent:.1} %"),
        };
    }
    let decimals = match percent {
        it if it >= 9.95 => 0,
        it if it >= 0.995 => 1,
        _ => 2,
    };
    let text = format!("{percent:.decimals$}");
    let short = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{short} %")
}

/// A share in percent, `3 %`.
pub fn percent(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A count or rate with `k`, `M` or `G` from ten thousand on.
pub fn count(value: f64) -> String {
    match value.abs() {
        1e9.. => format!("{}G", significant(value / 1e9)),
        1e6.. => format!("{}M", significant(value / 1e6)),
        1e4.. => format!("{}k", significant(value / 1e3)),
        _ => significant(value),
    }
}

/// A span of nanoseconds in the unit that suits it, `12.3 ms`.
pub fn span_ns(value: f64) -> String {
    let spaced = [(1e9, " s"), (1e6, " ms"), (1e3, " us")];
    match spaced.iter().find(|(scale, _)| value.abs() >= *scale) {
        Some((scale, unit)) => format!("{}{unit}", significant(value / scale)),
        None => format!("{} ns", significant(value)),
    }
}

/// A data rate in powers of ten, as drives are sold, `97.3 MB/s`.
pub fn bytes_per_s(value: f64) -> String {
    let (scale, unit) = match value.abs() {
        v if v >= 1e9 => (1e9, "GB/s"),
        v if v >= 1e5 => (1e6, "MB/s"),
        _ => (1e3, "kB/s"),
    };
    format!("{} {unit}", significant(value / scale))
}

/// A phrase at the beginning of a line.
pub fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A p value, never a bare zero.
pub fn p_value(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".to_owned() } else { format!("{p:.4}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_kept() {
        let check = |value, expected: &str| assert_eq!(significant(value), expected);
        check(0.0, "0");
        check(1.0, "1.00");
        check(9.996, "10.0");
        check(76.249, "76.2");
        check(-76.249, "-76.2");
        check(1234.4, "1234");
        check(0.001_234, "0.00123");
        check(0.000_012_34, "1.23e-5");
        check(1.0e300, "1.00e300");
        check(5.0e-324, "4.94e-324");
        check(1.1e-308, "1.10e-308");
    }

    #[test]
    fn ratios_near_one_show_tenths_of_a_percent() {
        let check = |value, expected: &str| assert_eq!(times(value), expected);
        check(1.003_33, "x1.003");
        check(0.999_11, "x0.999");
        check(1.5349, "x1.53");
        check(0.5, "x0.500");
        check(12.34, "x12.3");
        assert_eq!(range([1.476, 1.584]), "1.48 to 1.58");
        assert_eq!(range([0.9421, 1.1102]), "0.942 to 1.110");
        assert_eq!(range([0.5, 12.0]), "0.500 to 12.0");
        assert_eq!(range([0.9999, 1.0001]), "1.000");
    }

    #[test]
    fn changes_are_told_without_sign_and_needless_digits() {
        let check = |ratio, expected: &str| assert_eq!(percent_change(ratio), expected);
        check(1.061, "6.1 %");
        check(1.06, "6 %");
        check(0.28, "72 %");
        check(1.0002, "0.02 %");
        check(0.001_15, "99.9 %");
        check(0.000_2, "99.98 %");
        check(1e-300, "more than 99.99 %");
        check(0.0, "100 %");
        check(2.0, "100 %");
    }

    #[test]
    fn units_suit_the_size() {
        let check = |text: String, expected: &str| assert_eq!(text, expected);
        check(count(9_999.0), "9999");
        check(count(12_345.0), "12.3k");
        check(count(3_400_000.0), "3.40M");
        check(span_ns(13_400_000.0), "13.4 ms");
        check(span_ns(950.0), "950 ns");
        check(span_ns(2_340.0), "2.34 us");
        check(span_ns(2.5e9), "2.50 s");
        check(bytes_per_s(97_312_000.0), "97.3 MB/s");
        check(bytes_per_s(310_000.0), "0.310 MB/s");
        check(bytes_per_s(1.31e9), "1.31 GB/s");
        check(percent(0.03), "3 %");
        check(percent(0.125), "12.5 %");
        check(percent(0.1), "10 %");
        check(p_value(0.0), "< 0.0001");
        check(p_value(0.03125), "0.0312");
    }

    proptest::proptest! {
        #[test]
        fn any_number_prints_short(value: f64) {
            for text in [significant(value), times(value), count(value), span_ns(value)] {
                proptest::prop_assert!(text.len() <= 16, "{}", text);
            }
        }
    }
}
