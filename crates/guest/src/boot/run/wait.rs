//! Waiting for a guest: its messages, its output and its end.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use drivelab_core::disk::Disk;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::Run;
use super::wires::{Ready, Stop};
use crate::boot::about::{End, GuestError};
use crate::boot::meter::Meter;
use crate::boot::observer::Reaction;

/// Interval at which time limit, stop flag and process are checked while nothing happens.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Time that a guest that closed its connection may take to end.
const GRACE: Duration = Duration::from_secs(5);

impl<D: Disk + 'static> Run<'_, '_, D> {
    /// Waits for a message.
    pub(super) fn wait(&mut self) -> Result<Ready, Stop> {
        loop {
            if self.guest.stop.load(Ordering::Relaxed) {
                return Err(Stop::Ended(End::Stopped));
            }
            let process = &self.process;
            if let Some(end) = self.meter.over(Instant::now(), || process.processor_time()) {
                return Err(Stop::Ended(end));
            }
            let (ready, heard) = self.poll()?;
            if heard {
                self.take_outputs()?;
            }
            if ready.clock || ready.disks != 0 || ready.interrupts != 0 {
                // A guest prints before it sends a message and waits, so the pipe holds all of it.
                self.outputs[1].note(self.calendar.checked_now(&self.page)?);
                self.show_lines()?;
                return Ok(ready);
            }
            if self.process.has_ended().map_err(GuestError::at("look after the guest"))? {
                return Err(Stop::HungUp);
            }
        }
    }

    /// Passes complete lines to the observer.
    fn show_lines(&mut self) -> Result<(), Stop> {
        let Some(observer) = &mut self.observers.observer else { return Ok(()) };
        while let Some(line) = self.outputs[1].next_line() {
            match observer.line(&line, self.adapters[0].front.idle_disk()) {
                Reaction::Continue => {}
                Reaction::Exchanged => {
                    let used = self.process.processor_time();
                    self.meter = Meter::new(self.guest.limit, Instant::now(), used);
                }
                Reaction::Stop => return Err(Stop::Ended(End::Stopped)),
            }
        }
        Ok(())
    }

    /// Returns the readable sockets, and whether a console is readable.
    fn poll(&self) -> Result<(Ready, bool), GuestError> {
        let mut fds = vec![self.clock.poll_fd()];
        let drivers = self.adapters.iter().enumerate().filter(|(_, adapter)| !adapter.is_left);
        fds.extend(drivers.clone().map(|(_, adapter)| adapter.socket.poll_fd()));
        let drivers_end = fds.len();
        // The socket for interrupts exists only after the guest's driver has passed it.
        let interrupts = self.adapters.iter().enumerate();
        let interrupts =
            interrupts.filter_map(|(number, it)| Some((number, it.interrupts.as_ref()?)));
        fds.extend(interrupts.clone().map(|(_, socket)| PollFd::new(socket, PollFlags::IN)));
        let sockets = fds.len();
        let open = self.outputs.iter().filter(|output| output.is_open);
        fds.extend(open.map(|output| PollFd::new(output, PollFlags::IN)));
        match poll(&mut fds, Some(&POLL_INTERVAL)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(GuestError::at("wait for the guest")(error.into())),
        }
        let (sockets, consoles) = fds.split_at(sockets);
        let (heard, calls) = sockets.split_at(drivers_end);
        let ready = Ready {
            clock: has_event(&heard[0]),
            disks: bits(drivers.map(|(number, _)| number).zip(heard[1..].iter().map(has_event))),
            interrupts: bits(interrupts.map(|(number, _)| number).zip(calls.iter().map(has_event))),
        };
        let is_heard = consoles.iter().any(has_event);
        Ok((ready, is_heard))
    }

    /// Waits for a guest that closed its connection to end; its exit status is read later.
    pub(super) fn wait_for_exit(&mut self) -> Result<End, GuestError> {
        let since = Instant::now();
        while since.elapsed() < GRACE {
            self.take_outputs()?;
            if self.process.has_ended().map_err(GuestError::at("look after the guest"))? {
                return Ok(End::PoweredOff);
            }
            // Wakes up when the consoles close, which the end of the guest does.
            let open = self.outputs.iter().filter(|output| output.is_open);
            let mut fds: Vec<_> = open.map(|it| PollFd::new(it, PollFlags::IN)).collect();
            let pause = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            // Without an open console this is a sleep; an interrupted one only checks earlier.
            let _ = poll(&mut fds, Some(&pause));
        }
        Ok(End::TimedOut)
    }
}

/// Returns whether a polled file can be read, or has ended.
fn has_event(fd: &PollFd<'_>) -> bool {
    !fd.revents().is_empty()
}

/// A bit for each adapter with an event.
fn bits(events: impl Iterator<Item = (usize, bool)>) -> u64 {
    events.fold(0, |bits, (number, has_event)| bits | u64::from(has_event) << number)
}
