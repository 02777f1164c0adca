//! Kept runs of the same work, as courses over time.

mod course;

use std::time::{Duration, SystemTime};

pub use course::{Course, Moment, Past, courses};

/// The last millisecond that has a date of four digits for its year: 9999-12-31T23:59:59.999Z.
const LAST_MS: u64 = 253_402_300_799_999;

/// The minute of a time in milliseconds since 1970, UTC: `2026-11-23 00:55`.
pub fn minute(time_ms: u64) -> String {
    let text = humantime::format_rfc3339_seconds(moment(time_ms)).to_string();
    text[..16].replace('T', " ")
}

/// The date and time of milliseconds since 1970, UTC: `2026-11-23T00:55:03.25Z`, without the zeros
/// at the end of a fraction.
pub fn date_time(time_ms: u64) -> String {
    let text = humantime::format_rfc3339_millis(moment(time_ms)).to_string();
    let digits = text.trim_end_matches('Z').trim_end_matches('0');
    // A whole second has lost its fraction up to the point; other digits stay.
    let digits = digits.strip_suffix('.').unwrap_or(digits);
    format!("{digits}Z")
}

/// A time in milliseconds since 1970; the last moment that has a date, where it lies beyond that.
fn moment(time_ms: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(time_ms.min(LAST_MS))
}
