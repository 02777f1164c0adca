//! The messages of a guest to its clock and its adapters, and their answers.

use std::io::{Read as _, Write as _};

use drivelab_core::Time;
use drivelab_core::disk::Disk;

use super::Run;
use super::connected::Heard;
use super::wires::{Ready, Stop};
use crate::boot::about::GuestError;
use crate::boot::sockets;
use crate::calendar::{CalendarError, MESSAGE_BYTES, Message, Op};
use crate::machine::Queues;

/// Bits of each adapter in the notices of the page.
#[expect(clippy::cast_possible_truncation, reason = "it is 2")]
const QUEUES: u16 = Queues::COUNT as u16;

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
        // In the order of adapters and queues, so that a run can be repeated.
        for bit in (0..u64::BITS).filter(|bit| kicks & 1 << bit != 0) {
            let bit = u16::try_from(bit).expect("below 64");
            self.kick(now, usize::from(bit / QUEUES), bit % QUEUES)?;
        }
        let event = self.next_event();
        Ok(self.calendar.noticed(&mut self.page, event)?)
    }

    /// Takes what the guest has put into a queue, which may change registers that it reads in the
    /// page.
    fn kick(&mut self, now: Time, number: usize, index: u16) -> Result<(), Stop> {
        let adapter = self.adapters.get_mut(number).ok_or(GuestError::Early)?;
        let in_page = device(number);
        // Registers that the guest has read there came before what it wrote.
        adapter.front.wait_until(self.page.waits(in_page));
        adapter.kick(now, index)?;
        if let Some((mirror, waits)) = adapter.front.mirror() {
            self.page.show(in_page, &mirror, self.patient);
            self.page.set_waits(in_page, waits);
        }
        Ok(())
    }

    /// Handles a message of the driver of an adapter.
    pub(super) fn receive_driver_message(&mut self, number: usize) -> Result<(), Stop> {
        if !self.adapters[number].socket.accept_once()? {
            return Ok(());
        }
        self.take_kicks()?;
        let (heard, reply) = self.adapters[number].receive()?;
        if heard == Heard::Left && self.adapters.iter().all(|adapter| adapter.is_left) {
            return Err(Stop::HungUp);
        }
        if let Heard::Kick(index) = heard {
            let now = self.calendar.checked_now(&self.page)?;
            self.kick(now, number, index)?;
            let event = self.next_event();
            self.calendar.planned(&mut self.page, event)?;
        }
        self.adapters[number].answer(reply)
    }

    /// Advances the machine to `at`, and interrupts the guest where that completed a request.
    pub(super) fn advance(&mut self, at: Time) -> Result<(), Stop> {
        // The next forced message is a tick after this turn, not a tick after the last message.
        self.check_at = self.tick.map_or(self.check_at, |tick| self.check_at.max(at + tick));
        // At one instant in the order of the adapters, so that a run can be repeated.
        for number in 0..self.adapters.len() {
            let adapter = &mut self.adapters[number];
            if adapter.next_event().is_none_or(|event| event > at) {
                continue;
            }
            let wanted = adapter.advance(at, &mut self.done)?;
            // What the processor waits for is unchanged, and the guest's own time is the later one.
            if let Some((mirror, _)) = adapter.front.mirror() {
                self.page.show(device(number), &mirror, self.patient);
            }
            for done in self.done.drain(..) {
                self.trace.add(&done).map_err(GuestError::at("write the trace"))?;
            }
            let Some(index) = wanted else { continue };
            if self.page.guest_uses_notices() {
                self.calendar.call(&mut self.page, device(number) * QUEUES + index);
            } else {
                self.interrupt(number, index)?;
            }
        }
        Ok(())
    }

    /// Sends an interrupt and waits for its acknowledgement; meanwhile the guest may ask for the
    /// time.
    fn interrupt(&mut self, number: usize, index: u16) -> Result<(), Stop> {
        self.adapters[number].call(index)?;
        loop {
            let ready = self.wait()?;
            if ready.clock {
                self.receive_clock_message()?;
            }
            if ready.interrupts & 1 << number != 0 {
                return self.adapters[number].called();
            }
            if !ready.clock {
                self.receive_driver_messages(ready)?;
            }
        }
    }

    /// Handles the messages of all drivers that sent one.
    pub(super) fn receive_driver_messages(&mut self, ready: Ready) -> Result<(), Stop> {
        (0..self.adapters.len())
            .filter(|number| ready.disks & 1 << number != 0)
            .try_for_each(|number| self.receive_driver_message(number))
    }
}

/// The number of an adapter in the page.
fn device(number: usize) -> u16 {
    u16::try_from(number).expect("a guest has few adapters")
}
