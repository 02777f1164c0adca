//! What can stand behind the sockets: a modelled drive or a real file.

use std::io;
use std::os::fd::BorrowedFd;

use drivelab_core::{Device, Disk, Time};

use crate::drive::ServedDrive;
use crate::fault::{Fault, FaultId, Incident, Listed};
use crate::store::{Choose, Survival};

/// A disk, and what its server has to know besides.
pub trait Backend: Disk {
    /// What becomes readable when something is done that no clock tells of.
    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// The modelled drive, whose plug can be pulled, if it is one.
    fn modelled(&mut self) -> Option<&mut dyn Modelled> {
        None
    }
}

/// What only a modelled drive lets one do to it.
pub trait Modelled {
    /// Cuts the power.
    fn cut(&mut self, now: Time, choose: &mut dyn Choose) -> io::Result<Survival>;
    /// Adds a fault; `None` when there are too many.
    fn add_fault(&mut self, now: Time, fault: Fault) -> Option<FaultId>;
    /// Removes a fault.
    fn remove_fault(&mut self, now: Time, id: FaultId) -> bool;
    /// The faults in force.
    fn list_faults(&self) -> Vec<Listed>;
    /// What faults did since the last call.
    fn take_incidents(&mut self) -> Vec<Incident>;
}

impl<D: Device> Backend for ServedDrive<D> {
    fn modelled(&mut self) -> Option<&mut dyn Modelled> {
        Some(self)
    }
}

/// Faults that may be in force at once.
const MOST_FAULTS: usize = 1_000;

impl<D: Device> Modelled for ServedDrive<D> {
    fn cut(&mut self, now: Time, choose: &mut dyn Choose) -> io::Result<Survival> {
        self.cut(now, choose)
    }

    fn add_fault(&mut self, now: Time, fault: Fault) -> Option<FaultId> {
        (self.faults().count() < MOST_FAULTS).then(|| self.add_fault(now, fault))
    }

    fn remove_fault(&mut self, now: Time, id: FaultId) -> bool {
        self.remove_fault(now, id)
    }

    fn list_faults(&self) -> Vec<Listed> {
        self.faults().map(|(id, fault, strikes)| Listed::new(id, fault, strikes)).collect()
    }

    fn take_incidents(&mut self) -> Vec<Incident> {
        self.take_incidents()
    }
}
