//! Crash tests: a workload in a guest, cut at many instants, rebooted and checked.

mod batch;
mod campaign;
mod explain;
mod replays;
mod test;

pub use campaign::{Campaign, Found};
pub use explain::{TRIALS, explain};
pub use test::{Test, Worked};
