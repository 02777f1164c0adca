//! Crash tests in guests: the scripts that they run, and the results.

mod batch;
mod check;
mod layout;
mod scene;
mod workload;

pub use batch::{Mark, Numbered, ONE, batch_cuts};
pub use check::{CheckOutcome, CheckResult, checked};
pub use layout::Layout;
pub use scene::{ACKNOWLEDGED, Assembly, Scene};
pub(crate) use workload::with_output;
pub use workload::{WorkloadError, WorkloadRun, workload_run};
