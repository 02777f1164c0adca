//! Runs that simulated another drive in each block: what they say of one more.

mod command;
mod picture;
mod sampled;
mod words;

pub use command::Settle;
pub(crate) use picture::{figure, parts, svg};
#[cfg(test)]
pub(crate) use sampled::tests::specimens;
pub(crate) use sampled::{Foreseen, Sampled, Simulated};
pub use words::one_drive;
pub(crate) use words::{decides, forecast, on_drives, which};
