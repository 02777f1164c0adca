//! What can stand behind the sockets: a modelled drive or a real file.

use std::os::fd::BorrowedFd;

use drivelab_core::Disk;

use crate::drive::ServedDrive;

/// A disk, and what its server has to know besides.
pub trait Backend: Disk {
    /// What becomes readable when something is done that no clock tells of.
    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// The modelled drive, which has a plug to pull and faults, if it is one.
    fn modelled(&mut self) -> Option<&mut ServedDrive> {
        None
    }
}

impl Backend for ServedDrive {
    fn modelled(&mut self) -> Option<&mut ServedDrive> {
        Some(self)
    }
}
