//! Asks real drives: the load loop, pacing, `io_uring` and psync, and the guard that keeps data.

pub mod load;
mod simulate;
mod virtual_target;

pub use load::{Control, End, Job, LoadError, Loaded, Phase, Progress, Watch};
pub use simulate::simulate;
pub use virtual_target::VirtualTarget;
