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
            if ready.clock || ready.disk || ready.interrupts {
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
            match observer.line(&line, self.front.idle_disk()) {
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
        let mut fds = vec![self.clock.poll_fd(), self.disk.poll_fd()];
        let interrupts = self.interrupts.as_ref();
        fds.extend(interrupts.map(|socket| PollFd::new(socket, PollFlags::IN)));
        let sockets = fds.len();
        let open = self.outputs.iter().filter(|output| output.is_open);
        fds.extend(open.map(|output| PollFd::new(output, PollFlags::IN)));
        match poll(&mut fds, Some(&POLL_INTERVAL)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(GuestError::at("wait for the guest")(error.into())),
        }
        debug_assert!((2..=3).contains(&sockets), "clock, disk and perhaps interrupts");
        let has_event: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let (sockets, consoles) = has_event.split_at(sockets);
        // The socket for interrupts exists only after the guest's driver has passed it.
        let interrupts = sockets.get(2).copied().unwrap_or(false);
        let ready = Ready { clock: sockets[0], disk: sockets[1], interrupts };
        Ok((ready, consoles.contains(&true)))
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
