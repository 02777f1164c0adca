//! Kept runs of the same work, as courses over time.

mod course;

pub use course::{Course, Moment, Past, courses};

use jiff::Timestamp;

/// The minute of a time in milliseconds since 1970, UTC: `2026-11-23 00:55`.
pub fn minute(time_ms: u64) -> String {
    moment(time_ms).strftime("%Y-%m-%d %H:%M").to_string()
}

/// A time in milliseconds since 1970; the last moment there is, where it lies beyond that.
pub fn moment(time_ms: u64) -> Timestamp {
    let time_ms = i64::try_from(time_ms).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(time_ms).unwrap_or(Timestamp::MAX)
}
