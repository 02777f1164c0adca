//! Kept runs of the same work, as courses over time.

mod course;

use std::time::{Duration, UNIX_EPOCH};

pub use course::{Course, Moment, Past, courses};

/// The last millisecond that has a date of four digits for its year: 9999-12-31T23:59:59.999Z.
const LAST_MS: u64 = 253_402_300_799_999;

/// The minute of a time in milliseconds since 1970, UTC: `2026-11-23 00:55`.
pub fn minute(time_ms: u64) -> String {
    let text = with_millis(time_ms);
    text.get(..16).unwrap_or(&text).replace('T', " ")
}

/// The date and time of milliseconds since 1970, UTC: `2026-11-23T00:55:03.25Z`, without the zeros
/// at the end of a fraction.
pub fn date_time(time_ms: u64) -> String {
    let text = with_millis(time_ms);
    let digits = text.trim_end_matches('Z').trim_end_matches('0');
    // A whole second has lost its fraction up to the point; other digits stay.
    let digits = digits.strip_suffix('.').unwrap_or(digits);
    format!("{digits}Z")
}

/// `2026-11-23T00:55:03.250Z`; the last moment that has a date, where a time lies beyond that.
fn with_millis(time_ms: u64) -> String {
    let moment = UNIX_EPOCH + Duration::from_millis(time_ms.min(LAST_MS));
    humantime::format_rfc3339_millis(moment).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_without_the_zeros_of_a_fraction() {
        assert_eq!(date_time(0), "1970-01-01T00:00:00Z");
        assert_eq!(date_time(1_764_316_803_250), "2025-11-28T08:00:03.25Z");
        assert_eq!(date_time(1_764_316_800_000), "2025-11-28T08:00:00Z");
        assert_eq!(minute(1_764_316_803_250), "2025-11-28 08:00");
        assert_eq!(date_time(u64::MAX), "9999-12-31T23:59:59.999Z");
    }
}
