//! What the guest says to its clock and its drive, and what it is told.

use std::io::{Read as _, Write as _};

use drivelab_core::Time;
use drivelab_core::disk::Disk;

use super::Run;
use super::wires::Stop;
use crate::boot::about::GuestError;
use crate::boot::shared::GuestMemory;
use crate::boot::sockets::{self, Received};
use crate::calendar::{CalendarError, MESSAGE_BYTES, Message, Op};
use crate::machine::Queue;
use crate::vhost::{CALLED_BYTES, Effect, Step, call, was_called};

impl<D: Disk + 'static> Run<'_, '_, D> {
    pub(super) fn receive_clock_message(&mut self) -> Result<(), Stop> {
        if !self.clock.accept_once()? {
            return Ok(());
        }
        let stream = self.clock.stream()?;
        let mut bytes = [0; MESSAGE_BYTES];
        if stream.read_exact(&mut bytes).is_err() {
            return Err(Stop::HungUp);
        }
        let Some(message) = Message::from_bytes(bytes) else {
            return Err(Stop::from(CalendarError::Unknown));
        };
        // Notices in the page came before the message, and the drive must see them first.
        self.take_kicks()?;
        let Some(answer) = self.calendar.take(&mut self.page, message)? else { return Ok(()) };
        let answer = answer.to_bytes();
        let stream = self.clock.stream()?;
        let sent = if message.op == Op::Start {
            sockets::send_with_file_twice(stream, &answer, self.page.memory())
        } else {
            stream.write_all(&answer)
        };
        sent.map_err(|_| Stop::HungUp)
    }

    /// Handles the queues that the guest has filled without a message.
    fn take_kicks(&mut self) -> Result<(), Stop> {
        let kicks = self.page.take_kicks();
        if kicks == 0 {
            return Ok(());
        }
        let now = self.calendar.checked_now(&self.page)?;
        // In the order of the queues, so that a run can be repeated.
        for index in (0..u64::BITS).filter(|index| kicks & 1 << index != 0) {
            let index = u16::try_from(index).expect("below 64");
            self.front.kick(now, index, &mut self.queues, &mut self.memory)?;
        }
        let event = self.next_event();
        Ok(self.calendar.noticed(&mut self.page, event)?)
    }

    pub(super) fn receive_driver_message(&mut self) -> Result<(), Stop> {
        if !self.disk.accept_once()? {
            return Ok(());
        }
        self.take_kicks()?;
        let message = sockets::receive(self.disk.stream()?);
        let message = message.map_err(GuestError::at("hear the guest's driver"))?;
        let Some(Received { header, payload, files }) = message else {
            return Err(Stop::HungUp);
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
            Effect::Kick(index) => {
                let now = self.calendar.checked_now(&self.page)?;
                self.front.kick(now, index, &mut self.queues, &mut self.memory)?;
                let event = self.next_event();
                self.calendar.planned(&mut self.page, event)?;
            }
        }
        let Some(reply) = reply else { return Ok(()) };
        self.disk.stream()?.write_all(&reply).map_err(|_| Stop::HungUp)
    }

    /// Advances the drive to `at`, and interrupts the guest if that completed a request.
    pub(super) fn advance(&mut self, at: Time) -> Result<(), Stop> {
        // The next forced message is a tick after this turn, not a tick after the last message.
        self.check_at = self.tick.map_or(self.check_at, |tick| self.check_at.max(at + tick));
        if self.front.next_event().is_none_or(|event| event > at) {
            return Ok(());
        }
        let (queues, memory) = (&mut self.queues, &mut self.memory);
        let wanted = self.front.advance(at, queues, memory, &mut self.done)?;
        for done in self.done.drain(..) {
            self.trace.add(&done).map_err(GuestError::at("write the trace"))?;
        }
        match wanted {
            None => Ok(()),
            Some(index) if self.page.guest_uses_notices() => {
                self.calendar.call(&mut self.page, index);
                Ok(())
            }
            Some(index) => self.interrupt(index),
        }
    }

    /// Sends an interrupt and waits for its acknowledgement; meanwhile the guest may ask for the
    /// time.
    fn interrupt(&mut self, index: u16) -> Result<(), Stop> {
        let socket = self.interrupts.as_mut().ok_or(GuestError::Early)?;
        socket.write_all(&call(index)).map_err(|_| Stop::HungUp)?;
        loop {
            let ready = self.wait()?;
            if ready.clock {
                self.receive_clock_message()?;
            }
            if ready.interrupts {
                let socket = self.interrupts.as_mut().ok_or(GuestError::Early)?;
                let mut bytes = [0; CALLED_BYTES];
                socket.read_exact(&mut bytes).map_err(|_| Stop::HungUp)?;
                // Nothing else arrives here: the guest acknowledges one interrupt before the next
                // is sent.
                return if was_called(&bytes) { Ok(()) } else { Err(GuestError::Interrupt.into()) };
            }
            if ready.disk && !ready.clock {
                self.receive_driver_message()?;
            }
        }
    }
}
