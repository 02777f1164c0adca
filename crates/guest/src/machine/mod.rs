//! The machine that a guest sees: pure state machines in front of a [`drivelab_core::Disk`].

pub mod ahci;
mod ata;
mod block;
mod chain;
mod config;

mod front;
pub mod ide;
mod pci;
mod pci_device;
mod queue;
mod trace_entry;

pub use ata::AtaConfig;
pub use block::{Block, BlockError};
pub use chain::{Chain, Segment};
pub(crate) use config::WRITE_CACHE_AT;
pub use config::{BlockConfig, Feature};
pub use front::{Adapter, Front, Hardware, Queues};
pub use pci_device::PciDevice;
pub use queue::{Queue, QueueError, Ring};
pub use trace_entry::TraceEntry;

#[cfg(test)]
mod testing;
