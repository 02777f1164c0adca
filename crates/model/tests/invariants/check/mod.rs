//! Random histories on random small drives, each held against rules of its own.
//!
//! Nothing here asks the model for its opinion: what it does is seen step by step, and geometry,
//! arm, tags and data are followed a second time by other code. The bench plays histories by the
//! million; the tests play the same ones for a second, and `scripts/planted` with bugs in the
//! model.

mod history;
mod ledger;
mod medium;
mod plan;
mod rule;
mod surface;
mod watcher;

pub(crate) use history::play;
pub(crate) use rule::{Rule, Tally};
