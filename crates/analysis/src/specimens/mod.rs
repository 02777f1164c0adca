//! Runs that simulated another drive in each block: what they predict of one more.

mod command;
mod sampled;

pub use command::Settle;
pub use sampled::{Foreseen, Opened};
pub(crate) use sampled::{Sampled, Simulated};
