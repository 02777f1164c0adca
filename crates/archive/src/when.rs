//! Times as people name them: a date, a time ago, a word. Days are those of UTC.

use drivelab_core::{Invalid, invalid};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

/// A part of time, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Its first moment.
    pub from_ms: u64,
    /// The first moment after it; `None` for one that lasts.
    pub until_ms: Option<u64>,
}

/// The beginning of what `text` names, in milliseconds since 1970, where it is `now_ms`.
///
/// # Errors
/// The text names no time.
pub fn since(text: &str, now_ms: u64) -> Result<u64, Invalid> {
    Period::read(text, now_ms).map(|period| period.from_ms)
}

impl Period {
    /// Reads a time: a day (`2026-11-23`, `today`, `yesterday`), the time since then
    /// (`7d`, `12h`), the seven days before today (`last-week`), or from one to the end of another
    /// (`2026-11-01..2026-11-08`).
    ///
    /// # Errors
    /// The text names no time.
    pub fn read(text: &str, now_ms: u64) -> Result<Self, Invalid> {
        let now = i64::try_from(now_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
        let now = now.ok_or_else(|| wrong(text))?;
        let period = match text.split_once("..") {
            Some((from, to)) => {
                named(from, now).zip(named(to, now)).map(|(from, to)| (from.0, to.1))
            }
            None => named(text, now),
        };
        let (from, until) = period.ok_or_else(|| wrong(text))?;
        if until.is_some_and(|until| until <= from) {
            return Err(invalid!("`{text}` ends before it begins"));
        }
        Ok(Self { from_ms: millis(from), until_ms: until.map(millis) })
    }
}

fn wrong(text: &str) -> String {
    format!(
        "`{text}` is not a time: give 2026-11-23, 2026-11-01..2026-11-08, 7d, 12h, today, \
         yesterday or last-week"
    )
}

/// A time before 1970 counts as its beginning.
fn millis(moment: Timestamp) -> u64 {
    u64::try_from(moment.as_millisecond()).unwrap_or(0)
}

fn begin(date: Date) -> Option<Timestamp> {
    Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

fn days(from: Date, to: Date) -> Option<(Timestamp, Option<Timestamp>)> {
    debug_assert!(from < to, "a day has an end");
    Some((begin(from)?, Some(begin(to)?)))
}

/// Beginning and end of what has one name.
fn named(text: &str, now: Timestamp) -> Option<(Timestamp, Option<Timestamp>)> {
    let today = now.to_zoned(TimeZone::UTC).date();
    match text {
        "today" => return Some((begin(today)?, None)),
        "yesterday" => return days(today.yesterday().ok()?, today),
        "last-week" => return days(today.checked_sub(7.days()).ok()?, today),
        _ => {}
    }
    if let Ok(date) = text.parse::<Date>() {
        return days(date, date.tomorrow().ok()?);
    }
    // The unit is one byte; what ends in a letter of several is refused, not cut.
    let (count, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let count: i64 = count.parse().ok().filter(|count| *count >= 0)?;
    // Days of 24 hours: a time ago is no date.
    let hours = match unit {
        "h" => Some(count),
        "d" => count.checked_mul(24),
        _ => None,
    };
    // A thousand years ago and more are beyond what a calendar here can name.
    Some((now.checked_sub(hours.filter(|hours| *hours < 10_000_000)?.hours()).ok()?, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_name_them() {
        let ms = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond().unsigned_abs();
        let now = ms("2026-11-23T10:30:00Z");
        let check = |text: &str, from: &str, until: Option<&str>| {
            let expected = Period { from_ms: ms(from), until_ms: until.map(ms) };
            assert_eq!(Period::read(text, now), Ok(expected), "{text}");
            assert_eq!(since(text, now), Ok(expected.from_ms), "{text}");
        };
        check("2026-11-01", "2026-11-01T00:00:00Z", Some("2026-11-02T00:00:00Z"));
        check("2026-11-01..2026-11-08", "2026-11-01T00:00:00Z", Some("2026-11-09T00:00:00Z"));
        check("2026-11-01..today", "2026-11-01T00:00:00Z", None);
        check("today", "2026-11-23T00:00:00Z", None);
        check("yesterday", "2026-11-22T00:00:00Z", Some("2026-11-23T00:00:00Z"));
        check("last-week", "2026-11-16T00:00:00Z", Some("2026-11-23T00:00:00Z"));
        check("12h", "2026-11-22T22:30:00Z", None);
        check("7d", "2026-11-16T10:30:00Z", None);
        for odd in ["", "d", "-3d", "3w", "2026-13-01", "tomorrow", "99999999999999999999d", "ü"] {
            assert!(Period::read(odd, now).is_err(), "{odd}");
        }
        let backwards = Period::read("2026-11-08..2026-11-01", now).unwrap_err();
        assert!(backwards.0.contains("ends before it begins"), "{backwards}");
        Period::read("today", u64::MAX).unwrap_err();
    }
}
