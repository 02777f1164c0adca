//! Dates in the format of tools, `2015-07-01 10:11:12`.
//!
//! Tools write local time without a zone: seconds are computed as if it were UTC, which is enough
//! to order two files of one machine.

/// Times of the first day are of a clock that was not set.
const DAY_S: u64 = 86_400;

/// Seconds since 1970 of a date with a time; `-` or `/` separate its numbers. `None` before
/// 1970-01-02: a clock that was not set, or an unknown time.
pub(crate) fn unix_s(text: &str) -> Option<u64> {
    let words = text.trim().split([' ', '-', '/', ':', 'T']);
    let mut numbers = words.map_while(|word| word.parse::<u64>().ok());
    let (year, month, day) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let (hour, minute, second) = (numbers.next()?, numbers.next()?, numbers.next()?);
    let is_date = (1970..10_000).contains(&year) && (1..=12).contains(&month);
    // A leap second is second 60.
    let is_time = (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    if !is_date || !is_time {
        return None;
    }
    let seconds = 86_400 * days(year, month, day) + 3600 * hour + 60 * minute + second;
    Some(seconds).filter(|it| *it >= DAY_S)
}

/// Days from 1970 (Howard Hinnant's `days_from_civil`, for years from 1970 on).
fn days(year: u64, month: u64, day: u64) -> u64 {
    // The year begins in March, so that a leap day is its last.
    let year = if month <= 2 { year.saturating_sub(1) } else { year };
    let (era, of_era) = (year / 400, year % 400);
    // From March on, the lengths of months repeat every five months, which have 153 days.
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day.saturating_sub(1);
    let of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    // 146,097 days in 400 years; 719,468 days from March 1 of the year 0 to 1970.
    (era * 146_097 + of_era).saturating_sub(719_468)
}

/// A date with its time, `2015-07-01 10:11:12`; the beginning of 1970 if it is unknown.
pub(crate) fn text(unix_s: Option<u64>) -> String {
    let seconds = unix_s.filter(|it| *it >= DAY_S).unwrap_or(0);
    // The inverse of `days`, with the same constants.
    let (day, time) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    debug_assert!((1..=12).contains(&month), "the months of a year that begins in March");
    debug_assert!((1..=31).contains(&day), "days of a month count from 1");
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_written() {
        let check = |written: &str, expected: Option<u64>| {
            assert_eq!(unix_s(written), expected, "{written}");
        };
        check("2015-07-01 10:11:12", Some(1_435_745_472));
        check("2008/06/01 9:05:07", Some(1_212_311_107));
        check("2024-02-29T00:00:00", Some(1_709_164_800));
        check("1970-01-01 00:00:00", None);
        check("0000-00-00 00:00:00", None);
        check("2015-13-01 10:11:12", None);
        check("yesterday", None);
        // What would overflow, and what would be a date that it is not.
        check("20277777777772/02/03 4:05:06", None);
        check("18446744073709551615-12-31 23:59:59", None);
        check("2015-07-01 18446744073709551615:11:12", None);
        assert_eq!(text(None), "1970-01-01 00:00:00");
        assert_eq!(text(Some(59)), text(None));
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_is_read_again(seconds in 86_400_u64..253_402_300_800) {
            proptest::prop_assert_eq!(unix_s(&text(Some(seconds))), Some(seconds));
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = unix_s(&text);
        }

        #[test]
        fn no_numbers_panic(n: [u64; 6]) {
            let [year, month, day, hour, minute, second] = n;
            let _ = unix_s(&format!("{year}-{month}-{day} {hour}:{minute}:{second}"));
            let _ = unix_s(&format!("{year}-12-31 23:59:59"));
            let _ = unix_s(&format!("2015-07-{day} {hour}:59:59"));
        }
    }
}
