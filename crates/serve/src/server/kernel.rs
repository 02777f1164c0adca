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

use super::jobs::{Front, Job, Requester};
use super::{Backend, Server};
#[cfg(feature = "ublk")]
use crate::drive::Attributes;
use crate::task::Task;
#[cfg(feature = "ublk")]
use crate::ublk::{self, Disk};

/// Requests taken from the kernel before the others get their turn.
const TURN: usize = 64;

/// Time limit for the kernel to read the partition table, and at the end to write back its data;
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
            self.start(now, Job::new(Requester::Kernel { front, id }, request))?;
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
                // Whole sectors were read; the kernel wants part of them.
                let data = kernel.read_buffer(to_usize(answer.sectors.bytes().get()));
                self.drive.take_read(answer, data)?;
                kernel.reply_read(id, to_usize(job.offset % SECTOR_BYTES), to_usize(job.length));
            }
            (Ok(()), task) => kernel.reply(id, task, job.length),
        }
        self.fronts.due.push(answer.due);
        if front == Front::Fuse {
            // Replies to FUSE are written at once; those to ublk leave with the next submission.
            self.timing.answers_sent(self.clock.now(), &mut self.fronts.due);
        }
        Ok(())
    }
}

fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).expect("the kernel asks for little at once")
}

#[cfg(feature = "ublk")]
impl<B: Backend> Server<B> {
    /// Makes the drive a block device, which exists when this returns. By then the kernel has read
    /// from it, as from any newly attached disk.
    pub(super) fn attach_block(&mut self, attributes: Attributes) -> Result<(), Refusal> {
        let disk = Disk::new(self.drive.capacity().bytes(), attributes)?;
        let data = EventData::new_u64(super::DISK);
        epoll::add(&self.poll, disk.ring(), data, EventFlags::IN)
            .map_err(|error| ublk::refused("start the device", error.into()))?;
        // Otherwise the kernel could satisfy our memory allocations by writing back pages to this
        // very device. This needs a privilege; without it the risk remains, as for any server of a
        // disk.
        let _ = rustix::process::configure_io_flusher_behavior(true);
        self.fronts.block = Some(disk);
        self.run_until(Disk::is_attached)
            .map_err(|error| ublk::refused("start the device", error))?;
        if self.fronts.block.as_ref().is_some_and(|disk| !disk.is_attached()) {
            return Err(ublk::refused("start the device", io::ErrorKind::TimedOut.into()));
        }
        Ok(())
    }

    pub(super) fn block_device(&self) -> Option<PathBuf> {
        self.fronts.block.as_ref().map(Disk::path)
    }

    /// Makes the kernel write back its data and remove the device.
    pub(super) fn detach(&mut self) -> io::Result<()> {
        let Some(disk) = &mut self.fronts.block else { return Ok(()) };
        disk.detach()?;
        self.run_until(Disk::is_detached)
    }

    fn run_until(&mut self, is_done: fn(&Disk) -> bool) -> io::Result<()> {
        let mut events = Vec::with_capacity(64);
        let until = self.clock.now() + PATIENCE;
        while self.fronts.block.as_ref().is_some_and(|disk| !is_done(disk)) {
            if self.clock.now() >= until {
                return Ok(());
            }
            self.poll_once(&mut events)?;
        }
        Ok(())
    }

    pub(super) fn settle_block(&mut self) -> io::Result<()> {
        let Some(disk) = &mut self.fronts.block else { return Ok(()) };
        disk.submit()?;
        self.timing.answers_sent(self.clock.now(), &mut self.fronts.due);
        Ok(())
    }
}
