//! What can stand behind the sockets: a modelled drive or a real file.

use std::io;
use std::os::fd::BorrowedFd;

use drivelab_core::{Bytes, Device, Lba, Sectors, Time};

use crate::drive::{Command, Done, ServedDrive};
use crate::fault::{Fault, FaultId, Incident, Listed};
use crate::medium::Extent;
use crate::store::{Choose, Survival};

/// A drive that takes commands and answers them in its own time.
pub trait Backend {
    /// Addressable sectors.
    fn capacity(&self) -> Sectors;
    /// Commands on their way.
    fn in_flight(&self) -> usize;
    /// Takes a command.
    fn submit(&mut self, now: Time, command: Command) -> io::Result<()>;
    /// When it next has something to do, as far as it knows.
    fn next_event(&self) -> Option<Time>;
    /// Moves to `now` and appends the answers that are due.
    fn advance(&mut self, now: Time, done: &mut Vec<Done>) -> io::Result<()>;
    /// Fills `data` with what a read that is done found; once for each.
    fn take_read(&mut self, done: &Done, data: &mut [u8]) -> io::Result<()>;
    /// Which stretches hold data.
    fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>>;
    /// What becomes readable when something is done that no clock tells of.
    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        None
    }
    /// Acknowledged data that is not durable.
    fn pending(&self) -> Bytes {
        Bytes::ZERO
    }
    /// The end of an orderly day: everything acknowledged becomes durable.
    fn power_off(&mut self) -> io::Result<()>;
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
    fn capacity(&self) -> Sectors {
        self.capacity()
    }

    fn in_flight(&self) -> usize {
        self.in_flight()
    }

    fn submit(&mut self, now: Time, command: Command) -> io::Result<()> {
        self.submit(now, command)
    }

    fn next_event(&self) -> Option<Time> {
        self.next_event()
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) -> io::Result<()> {
        self.advance(now, done)
    }

    fn take_read(&mut self, done: &Done, data: &mut [u8]) -> io::Result<()> {
        self.read(done.lba, data)
    }

    fn extents(&self, lba: Lba, sectors: Sectors, limit: usize) -> io::Result<Vec<Extent>> {
        self.store().extents(lba, sectors, limit)
    }

    fn pending(&self) -> Bytes {
        self.store().pending()
    }

    fn power_off(&mut self) -> io::Result<()> {
        self.power_off()
    }

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
