//! An adapter of the machine at the end of its socket.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use drivelab_core::Time;
use drivelab_core::disk::Disk;

use super::wires::{GuestSocket, Stop};
use crate::boot::about::{GuestError, disk_socket};
use crate::boot::shared::GuestMemory;
use crate::boot::sockets::{self, Received};
use crate::machine::{Adapter, Front, Queue, Queues, TraceEntry};
use crate::vhost::{CALLED_BYTES, Effect, Session, Step, call, was_called};

/// The adapter, and what the guest's driver has set up for it.
#[derive(Debug)]
pub(super) struct Connected<D> {
    pub(super) socket: GuestSocket,
    pub(super) interrupts: Option<UnixStream>,
    /// The driver has left it, as all do one after the other when the guest ends.
    pub(super) is_left: bool,
    session: Session,
    memory: GuestMemory,
    queues: Queues,
    pub(super) front: Front<D>,
    /// The number of its first disk in the guest.
    first_disk: u16,
}

/// What the loop must do after a message of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// Nothing: the message is answered.
    All,
    /// The driver closed its connection.
    Left,
    /// A queue of this number was filled, and the message is not answered yet.
    Kick(u16),
}

impl<D: Disk> Connected<D> {
    /// Listens for the driver of adapter `number`, whose first disk is number `first_disk`.
    pub(super) fn new(
        adapter: Adapter<D>,
        folder: &Path,
        (number, first_disk): (usize, u16),
    ) -> Result<Self, GuestError> {
        Ok(Self {
            socket: GuestSocket::new(&folder.join(disk_socket(number)))?,
            interrupts: None,
            is_left: false,
            session: Session::new(adapter.hardware.clone()),
            memory: GuestMemory::default(),
            queues: Queues::default(),
            front: Front::new(adapter),
            first_disk,
        })
    }

    /// Handles a message of the driver; returns what is left to do, and the answer.
    pub(super) fn receive(&mut self) -> Result<(Heard, Option<Vec<u8>>), Stop> {
        let message = sockets::receive(self.socket.stream()?);
        let message = message.map_err(GuestError::at("hear the guest's driver"))?;
        let Some(Received { header, payload, files }) = message else {
            (self.is_left, self.interrupts) = (true, None);
            return Ok((Heard::Left, None));
        };
        let Step { effect, reply } = self.session.take(header, &payload, files.len())?;
        match effect {
            Effect::Nothing => {}
            Effect::Memory(regions) => {
                let memory = GuestMemory::new(regions, files);
                self.memory = memory.map_err(GuestError::at("map the guest's memory"))?;
            }
            Effect::Interrupts => self.interrupts = files.into_iter().next().map(Into::into),
            Effect::Queue(index, ring) => {
                let queue = Queue::new(ring)?;
                // The guest fills the queue of interrupts ahead of time; a kick for each buffer
                // would cost a turn.
                if self.front.is_silent(index) {
                    queue.silence(&mut self.memory)?;
                }
                self.queues.set(index, queue);
            }
            Effect::WriteCache(on) => self.front.set_write_cache(on),
            Effect::Kick(index) => return Ok((Heard::Kick(index), reply)),
        }
        Ok((Heard::All, reply))
    }

    /// Answers a message of the driver.
    pub(super) fn answer(&mut self, reply: Option<Vec<u8>>) -> Result<(), Stop> {
        let Some(reply) = reply else { return Ok(()) };
        self.socket.stream()?.write_all(&reply).map_err(|_| Stop::HungUp)
    }

    /// Takes what the guest has put into a queue.
    pub(super) fn kick(&mut self, now: Time, index: u16) -> Result<(), Stop> {
        Ok(self.front.kick(now, index, &mut self.queues, &mut self.memory)?)
    }

    /// Returns the time of its next event.
    pub(super) fn next_event(&self) -> Option<Time> {
        self.front.next_event().filter(|_| !self.is_left)
    }

    /// Carries out the events that are due at `now`; returns the queue for which the guest must be
    /// interrupted.
    pub(super) fn advance(
        &mut self,
        now: Time,
        done: &mut Vec<TraceEntry>,
    ) -> Result<Option<u16>, Stop> {
        let before = done.len();
        let wanted = self.front.advance(now, &mut self.queues, &mut self.memory, done)?;
        for entry in &mut done[before..] {
            entry.disk += self.first_disk;
        }
        Ok(wanted)
    }

    /// Sends an interrupt as a message.
    pub(super) fn call(&mut self, index: u16) -> Result<(), Stop> {
        let socket = self.interrupts.as_mut().ok_or(GuestError::Early)?;
        socket.write_all(&call(index)).map_err(|_| Stop::HungUp)
    }

    /// Reads the acknowledgement of such an interrupt.
    pub(super) fn called(&mut self) -> Result<(), Stop> {
        let socket = self.interrupts.as_mut().ok_or(GuestError::Early)?;
        let mut bytes = [0; CALLED_BYTES];
        socket.read_exact(&mut bytes).map_err(|_| Stop::HungUp)?;
        // Nothing else arrives here: the guest acknowledges one interrupt before the next is sent.
        if was_called(&bytes) { Ok(()) } else { Err(GuestError::Interrupt.into()) }
    }
}
