//! The path from a disk to the processor: SCSI, ATA, NVMe, USB, virtio, and the PCI function.

pub mod ata;
pub mod identify;
pub mod mmc;
pub mod nvme;
mod path;
pub mod pci;
pub mod pcie;
pub mod scsi;
pub mod usb;
pub mod virtio;

pub use path::{Controller, Hop, HopKind, Link};

pub(crate) use path::{functions, in_brackets, paravirtual};
