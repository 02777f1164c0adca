//! The commands of an ATA drive and its identification, behind any adapter.

mod identify;
mod task;
mod transfer;
mod trim;

pub use identify::AtaConfig;
pub(super) use task::{ABORTED, Action, Ata, MediumCommand, TaskFile, UNCORRECTABLE};

/// Status of a drive that takes a command: `DRDY` and `DSC`.
pub(super) const READY: u8 = 0x50;
/// The same while it carries one out: `BSY`.
pub(super) const BUSY: u8 = 0xD0;
/// `ERR` and `DRDY`.
pub(super) const FAILED: u8 = 0x41;
/// Bytes of a logical sector.
pub(super) const SECTOR_BYTES: u64 = 512;
