//! A part of a drive, as a partition is.

use drivelab_core::{Completion, Destaged, Device, IoError, Lba, Request, Sectors, ServedBy, Time};

use super::Drive;
use crate::event::EventQueue;

/// The part of a drive from a sector on.
#[derive(Debug)]
pub(crate) struct Shifted {
    drive: Drive,
    first: Sectors,
    /// Requests that end beyond the addresses of any drive.
    refused: EventQueue<Request>,
}

impl Shifted {
    pub(crate) fn new(drive: Drive, first: Sectors) -> Self {
        Self { drive, first, refused: EventQueue::with_capacity(8) }
    }

    pub(crate) fn drive(&self) -> &Drive {
        &self.drive
    }

    pub(crate) fn drive_mut(&mut self) -> &mut Drive {
        &mut self.drive
    }
}

impl Device for Shifted {
    fn capacity(&self) -> Sectors {
        Sectors::new(self.drive.capacity().get() - self.first.get())
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        if !request.op.transfers() && request.sectors == Sectors::ZERO {
            return self.drive.submit(now, request);
        }
        let Some(lba) = request.lba.get().checked_add(self.first.get()) else {
            self.refused.push(now, request);
            return Ok(());
        };
        let moved = Request { lba: Lba::new(lba), ..request };
        // A request that was refused comes back as it was given.
        self.drive.submit(now, moved).map_err(|_| request)
    }

    fn next_event(&self) -> Option<Time> {
        let times = [self.drive.next_event(), self.refused.next_time()];
        times.into_iter().flatten().min()
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        while let Some((at, request)) = self.refused.pop_due(now) {
            let (id, result) = (request.id, Err(IoError::OutOfRange));
            completed.push(Completion { id, at, result, served_by: ServedBy::Unknown });
        }
        self.drive.advance(now, completed);
    }

    fn destaged(&mut self, records: &mut Vec<Destaged>) {
        let from = records.len();
        self.drive.destaged(records);
        for record in &mut records[from..] {
            record.lba = Lba::new(record.lba.get().saturating_sub(self.first.get()));
        }
    }
}
