//! Kept runs as a list.

mod asked;
mod course;
mod json;
mod over_time;
mod page;
mod picture;
mod text;

pub use asked::Asked;
pub use course::{Course, Moment, Past, courses};
pub use json::{json, json_frame, json_run};
pub use over_time::course_page;
pub use page::page;
pub use text::text;

use jiff::Timestamp;

/// The minute of a time in milliseconds since 1970, UTC: `2026-11-23 00:55`.
pub(crate) fn minute(time_ms: u64) -> String {
    moment(time_ms).strftime("%Y-%m-%d %H:%M").to_string()
}

/// A time in milliseconds since 1970 as RFC 3339 writes it, UTC.
fn rfc_3339(time_ms: u64) -> String {
    moment(time_ms).to_string()
}

/// The last moment there is, where the time lies beyond it.
fn moment(time_ms: u64) -> Timestamp {
    let time_ms = i64::try_from(time_ms).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(time_ms).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
