//! The drive behind the sockets: a modelled drive or a real file.

use std::os::fd::BorrowedFd;

use drivelab_core::Disk;

use crate::drive::ServedDrive;

/// A disk, and additional facts for its server.
pub trait Backend: Disk {
    /// Becomes readable when a command completed at a time that the drive cannot predict.
    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// The modelled drive, with its power cut and faults, if it is one.
    fn modelled(&mut self) -> Option<&mut ServedDrive> {
        None
    }
}

impl Backend for ServedDrive {
    fn modelled(&mut self) -> Option<&mut ServedDrive> {
        Some(self)
    }
}
