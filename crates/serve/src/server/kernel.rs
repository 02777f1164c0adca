//! Requests from the kernel: over FUSE, and from the ublk driver.

use std::io;
#[cfg(feature = "ublk")]
use std::path::PathBuf;

use drivelab_core::disk::Answer;
use drivelab_core::units::SECTOR_BYTES;
#[cfg(feature = "ublk")]
use drivelab_core::{Refusal, Span};
#[cfg(feature = "ublk")]
use rustix::event::epoll::{self, EventData, EventFlags};

use super::jobs::{Asker, Front, Job};
use super::{Backend, Server};
#[cfg(feature = "ublk")]
use crate::drive::Attributes;
use crate::task::Task;
#[cfg(feature = "ublk")]
use crate::ublk::{self, Disk};

/// Requests taken from the kernel before the others get their turn.
const TURN: usize = 64;

/// How long the kernel may take to read the partition table, and at the end to write back its data:
/// after that, the remaining requests fail.
#[cfg(feature = "ublk")]
const PATIENCE: Span = Span::from_secs(30);

impl<B: Backend> Server<B> {
    pub(super) fn serve_kernel(&mut self, front: Front) -> io::Result<()> {
        for _ in 0..TURN {
            let Some(kernel) = self.fronts.get(front) else { return Ok(()) };
            let Some((id, request)) = kernel.next()? else { return Ok(()) };
            let now = self.clock.now();
            self.advance(now)?;
            self.start(now, Job::new(Asker::Kernel { front, id }, request))?;
            self.advance(now)?;
        }
        Ok(())
    }

    pub(super) fn answer_kernel(
        &mut self,
        front: Front,
        id: u64,
        job: &Job,
        answer: &Answer,
    ) -> io::Result<()> {
        let Some(kernel) = self.fronts.get(front) else { return Ok(()) };
        match (answer.result, job.task) {
            (Err(_), _) => kernel.reply_error(id),
            (Ok(()), Task::Read) => {
                let bytes = |count: u64| {
                    usize::try_from(count).expect("the kernel asks for little at once")
                };
                // Whole sectors were read; the kernel wants part of them.
                let data = kernel.read_buffer(bytes(answer.sectors.bytes().get()));
                self.drive.take_read(answer, data)?;
                kernel.reply_read(id, bytes(job.offset % SECTOR_BYTES), bytes(job.length));
            }
            (Ok(()), task) => kernel.reply(id, task, job.length),
        }
        self.fronts.due.push(answer.due);
        if front == Front::Fuse {
            // It has already disconnected.
            self.timing.left(self.clock.now(), &mut self.fronts.due);
        }
        Ok(())
    }
}

#[cfg(feature = "ublk")]
impl<B: Backend> Server<B> {
    /// Makes the drive a block device, which exists when this returns. By then the kernel has read
    /// from it, as from any newly attached disk.
    pub(super) fn plug_in(&mut self, attributes: Attributes) -> Result<(), Refusal> {
        let disk = Disk::new(self.drive.capacity().bytes(), attributes)?;
        let data = EventData::new_u64(super::DISK);
        let refused = |error| ublk::refused("start the device", error);
        epoll::add(&self.poll, disk.ring(), data, EventFlags::IN)
            .map_err(|error| refused(error.into()))?;
        // Otherwise the kernel could satisfy our memory allocations by writing back pages to this
        // very device. This needs a privilege; without it the risk remains, as for any server of a
        // disk.
        let _ = rustix::process::configure_io_flusher_behavior(true);
        self.fronts.block = Some(disk);
        self.turn_until(Disk::is_plugged_in).map_err(refused)?;
        if self.fronts.block.as_ref().is_some_and(|disk| !disk.is_plugged_in()) {
            return Err(refused(io::ErrorKind::TimedOut.into()));
        }
        Ok(())
    }

    pub(super) fn block_device(&self) -> Option<PathBuf> {
        self.fronts.block.as_ref().map(Disk::path)
    }

    /// Makes the kernel write back its data and remove the device.
    pub(super) fn unplug(&mut self) -> io::Result<()> {
        let Some(disk) = &mut self.fronts.block else { return Ok(()) };
        disk.unplug()?;
        self.turn_until(Disk::is_unplugged)
    }

    fn turn_until(&mut self, is_done: fn(&Disk) -> bool) -> io::Result<()> {
        let mut events = Vec::with_capacity(64);
        let until = self.clock.now() + PATIENCE;
        while self.fronts.block.as_ref().is_some_and(|disk| !is_done(disk)) {
            if self.clock.now() >= until {
                return Ok(());
            }
            self.turn(&mut events)?;
        }
        Ok(())
    }

    pub(super) fn settle_block(&mut self) -> io::Result<()> {
        let Some(disk) = &mut self.fronts.block else { return Ok(()) };
        disk.submit()?;
        self.timing.left(self.clock.now(), &mut self.fronts.due);
        Ok(())
    }
}
