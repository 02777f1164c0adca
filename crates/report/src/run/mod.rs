//! Stored runs, shown.

pub(crate) mod over_time;
mod page;
mod several;
#[cfg(test)]
mod tests;
mod text;

use drivelab_analysis::figures;
use drivelab_core::numbers::float;
use drivelab_core::record::RunRecord;

pub use over_time::spark;
pub(crate) use page::{page, when_and_where};
pub use several::jobs_text;
pub(crate) use several::{HEADS, row};
pub use text::text;

/// A time in nanoseconds with its unit.
fn span(ns: u64) -> String {
    figures::span_ns(float(ns))
}

/// The machine that made a run, and how its target was attached.
pub fn place(record: &RunRecord) -> Vec<String> {
    when_and_where(record).split_off(1)
}
