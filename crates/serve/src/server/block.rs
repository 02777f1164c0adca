//! The drive as a block device: requests of the kernel's ublk driver.

use std::io;
use std::path::PathBuf;

use drivelab_core::disk::Answer;
use drivelab_core::{Span, Time};
use rustix::event::epoll::{self, EventData, EventFlags};

use super::jobs::{Asker, Job, Task};
use super::{Backend, DISK, Server};
use crate::ublk::{Attributes, Disk, Unavailable};

/// How long the kernel may take to read the partition table, and in the end to write back what it
/// has: then what is left fails.
const PATIENCE: Span = Span::from_secs(30);

/// Requests taken from the kernel before others get their turn.
const TURN: usize = 64;

/// A block device, and when the answers that were not sent yet were due.
#[derive(Debug)]
pub(super) struct Block {
    disk: Disk,
    due: Vec<Time>,
}

impl<B: Backend> Server<B> {
    /// Makes the drive a block device of the kernel's, too; when this returns, it is there. The
    /// kernel has read from it by then, as from any disk that is plugged in.
    ///
    /// # Errors
    /// The kernel has no ublk driver, or refuses.
    pub fn plug_in(&mut self, attributes: Attributes) -> Result<(), Unavailable> {
        let disk = Disk::new(self.drive.capacity().bytes(), attributes)?;
        let data = EventData::new_u64(DISK);
        epoll::add(&self.poll, disk.ring(), data, EventFlags::IN).map_err(io::Error::from)?;
        // Else memory that we ask for could be made by writing pages back to this very device.
        // Only some may say so; the others live with it, as every server of a disk did.
        let _ = rustix::process::configure_io_flusher_behavior(true);
        self.block = Some(Block { disk, due: Vec::new() });
        self.turn_until(Disk::is_plugged_in)?;
        if self.block.as_ref().is_some_and(|block| !block.disk.is_plugged_in()) {
            let source = io::ErrorKind::TimedOut.into();
            return Err(Unavailable::Refused { what: "start the device", source });
        }
        Ok(())
    }

    /// The block device, if the drive is one.
    pub fn block_device(&self) -> Option<PathBuf> {
        self.block.as_ref().map(|block| block.disk.path())
    }

    /// Has the kernel write back what it has and take the device away.
    pub(super) fn unplug(&mut self) -> io::Result<()> {
        let Some(block) = &mut self.block else { return Ok(()) };
        block.disk.unplug()?;
        self.turn_until(Disk::is_unplugged)
    }

    fn turn_until(&mut self, is_done: fn(&Disk) -> bool) -> io::Result<()> {
        let mut events = Vec::with_capacity(64);
        let until = self.clock.now() + PATIENCE;
        while self.block.as_ref().is_some_and(|block| !is_done(&block.disk)) {
            if self.clock.now() >= until {
                return Ok(());
            }
            self.turn(&mut events)?;
        }
        Ok(())
    }

    /// Sends the answers that are ready, and takes requests from the kernel.
    pub(super) fn serve_block(&mut self) -> io::Result<()> {
        self.settle_block()?;
        for _ in 0..TURN {
            let Some(block) = &mut self.block else { return Ok(()) };
            let Some((tag, wanted)) = block.disk.next()? else { return Ok(()) };
            let mut data = None;
            if wanted.task == Task::Write {
                data = block.disk.data(tag, wanted.length).ok();
                if data.is_none() {
                    block.disk.reply_error(tag);
                    continue;
                }
            }
            let now = self.clock.now();
            self.advance(now)?;
            let asker = Asker::Ublk { tag };
            let range = (wanted.offset, wanted.length);
            self.start(now, Job::new(asker, wanted.task, range, wanted.fua, data))?;
            self.advance(now)?;
        }
        Ok(())
    }

    /// Puts an answer into the ring.
    pub(super) fn answer_block(
        &mut self,
        tag: u16,
        (task, length): (Task, u64),
        answer: &Answer,
    ) -> io::Result<()> {
        let Some(block) = &mut self.block else { return Ok(()) };
        match (answer.result, task) {
            (Err(_), _) => block.disk.reply_error(tag),
            (Ok(()), Task::Read) => {
                self.drive.take_read(answer, block.disk.read_buffer(length))?;
                block.disk.reply_read(tag);
            }
            (Ok(()), _) => block.disk.reply(tag, length),
        }
        block.due.push(answer.due);
        Ok(())
    }

    /// Sends the answers that are ready.
    pub(super) fn settle_block(&mut self) -> io::Result<()> {
        let Some(block) = &mut self.block else { return Ok(()) };
        block.disk.submit()?;
        if !block.due.is_empty() {
            let now = self.clock.now();
            for due in block.due.drain(..) {
                self.lateness.record(now.since(due));
            }
            self.spin.answered(now);
        }
        Ok(())
    }
}
