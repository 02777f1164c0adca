//! Times as people name them: a date, a time ago, a word. Days are those of UTC.

use std::time::UNIX_EPOCH;

use drivelab_core::{Invalid, invalid};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

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
        let now = i64::try_from(now_ms).map_err(|_| wrong(text))?;
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
fn millis(moment: i64) -> u64 {
    u64::try_from(moment).unwrap_or(0)
}

/// The first moment of a day that is written as `2026-11-23`.
fn day(text: &str) -> Option<i64> {
    let moment = humantime::parse_rfc3339(&format!("{text}T00:00:00Z")).ok()?;
    i64::try_from(moment.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

/// Beginning and end of what has one name, in milliseconds since 1970.
fn named(text: &str, now: i64) -> Option<(i64, Option<i64>)> {
    let today = now - now % DAY_MS;
    match text {
        "today" => return Some((today, None)),
        "yesterday" => return Some((today - DAY_MS, Some(today))),
        "last-week" => return Some((today - 7 * DAY_MS, Some(today))),
        _ => {}
    }
    if let Some(begin) = day(text) {
        return Some((begin, Some(begin + DAY_MS)));
    }
    // The unit is one byte; what ends in a letter of several is refused, not cut.
    let (count, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let is_number = count.bytes().all(|byte| byte.is_ascii_digit());
    let count: i64 = count.parse().ok().filter(|_| is_number)?;
    // Days of 24 hours: a time ago is no date.
    let ago = match unit {
        "h" => count.checked_mul(HOUR_MS),
        "d" => count.checked_mul(DAY_MS),
        _ => None,
    };
    Some((now - ago?, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_name_them() {
        let ms = |text: &str| {
            let moment = humantime::parse_rfc3339(text).unwrap();
            u64::try_from(moment.duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
        };
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
        // `+` is no part of a number of days, and 30 February no day.
        for odd in ["+3d", "2026-02-30", "1969-12-31"] {
            assert!(Period::read(odd, now).is_err(), "{odd}");
        }
    }
}
