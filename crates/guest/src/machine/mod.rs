//! The machine that a guest sees: pure state machines in front of a [`drivelab_core::Disk`].

pub mod ahci;
mod ata;
mod block;
mod chain;
mod config;
mod done;
mod front;
pub mod ide;
mod pci;
mod pcidev;
mod queue;

pub use ata::AtaConfig;
pub use block::{Block, BlockError};
pub use chain::{Chain, Segment};
pub(crate) use config::WRITE_CACHE_AT;
pub use config::{BlockConfig, Feature};
pub use done::Done;
pub use front::{Front, Hardware, Queues};
pub use pcidev::PciDevice;
pub use queue::{Queue, QueueError, Ring};

#[cfg(test)]
mod testing;
