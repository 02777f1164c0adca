//! Runs that simulated another drive in each block, in words and drawn.

mod picture;
#[cfg(test)]
pub(crate) mod tests;
mod words;

pub(crate) use picture::{figure, parts, svg};
pub use words::one_drive;
pub(crate) use words::{decides, forecast, on_drives, which};
