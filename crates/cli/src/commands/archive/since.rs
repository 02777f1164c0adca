//! Moments as people name them: a date, a time ago, a word.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

/// The present.
pub(super) fn now() -> Timestamp {
    Timestamp::now()
}

/// The beginning of what `text` names, in milliseconds since 1970, where it is `now`. Days are
/// those of UTC.
pub(super) fn read(text: &str, now: Timestamp) -> Result<u64, String> {
    let moment = moment(text, now).ok_or_else(|| {
        format!("`{text}` is not a time: give 2026-11-23, 7d, 12h, today, yesterday or last-week")
    })?;
    Ok(u64::try_from(moment.as_millisecond()).unwrap_or(0))
}

fn moment(text: &str, now: Timestamp) -> Option<Timestamp> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let begin = |date: Date| Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp());
    match text {
        "today" => return begin(today),
        "yesterday" => return begin(today.yesterday().ok()?),
        "last-week" => return begin(today.checked_sub(7.days()).ok()?),
        _ => {}
    }
    if let Ok(date) = text.parse::<Date>() {
        return begin(date);
    }
    let (count, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let count: i64 = count.parse().ok().filter(|count| *count >= 0)?;
    let hours = match unit {
        "h" => Some(count),
        "d" => count.checked_mul(24),
        _ => None,
    };
    now.checked_sub(hours.filter(|hours| *hours < 10_000_000)?.hours()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_name_them() {
        let now: Timestamp = "2026-11-23T10:30:00Z".parse().unwrap();
        let check = |text: &str, expected: &str| {
            let expected: Timestamp = expected.parse().unwrap();
            assert_eq!(read(text, now), Ok(expected.as_millisecond().unsigned_abs()), "{text}");
        };
        check("2026-11-01", "2026-11-01T00:00:00Z");
        check("today", "2026-11-23T00:00:00Z");
        check("yesterday", "2026-11-22T00:00:00Z");
        check("last-week", "2026-11-16T00:00:00Z");
        check("12h", "2026-11-22T22:30:00Z");
        check("7d", "2026-11-16T10:30:00Z");
        for odd in ["", "d", "-3d", "3w", "2026-13-01", "tomorrow", "99999999999999999999d", "ü"] {
            assert!(read(odd, now).is_err(), "{odd}");
        }
    }
}
