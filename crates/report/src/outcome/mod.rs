//! The statistics of two arms, in clauses, sentences and JSON.

mod claim;
mod json;
mod sentence;

pub(crate) use claim::{claim, direction, lead, ratio_and_range, sized};
pub(crate) use json::{MetricJson, document};
pub use sentence::Sentence;
pub(crate) use sentence::by_verdict;
