//! The machine that a guest sees: pure state machines in front of a [`drivelab_core::Disk`].

mod block;
mod chain;
mod config;
mod queue;

pub use block::{Block, BlockError, Done};
pub use chain::{Chain, Segment};
pub(crate) use config::WRITE_CACHE_AT;
pub use config::{BlockConfig, Feature};
pub use queue::{Queue, QueueError, Ring};

#[cfg(test)]
mod testing;
