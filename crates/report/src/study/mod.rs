//! An experiment's result in words, table and JSON.

pub(crate) mod hosts;
mod json;
#[cfg(test)]
pub(crate) mod tests;
mod text;
mod words;

use drivelab_analysis::study::StudyResult;

use crate::specimens;

pub use json::{STUDY_SCHEMA, json};
pub(crate) use text::scale;
pub use text::{short, text};
pub use words::words;

/// A picture of the first question whose answer depends on the drive, else of the primary metric: a
/// dot for each simulated drive; `None` where there are none.
pub fn drives_svg(result: &StudyResult) -> Option<String> {
    let outcome = result.open().unwrap_or(result.primary());
    specimens::svg(outcome, result.series_of(outcome))
}
