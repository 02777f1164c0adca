//! The terminal of an interactive guest.

use std::fs::File;
use std::io::{self, Read as _, Write};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The terminal in which a user types, and on which the guest's console is shown.
pub struct Terminal<'a> {
    /// The input: a terminal, or anything else that can be read.
    pub input: BorrowedFd<'a>,
    /// The output of the guest.
    pub output: &'a mut dyn Write,
}

impl std::fmt::Debug for Terminal<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal").field("input", &self.input).finish_non_exhaustive()
    }
}

/// The end of input, as a terminal has it: what was typed before is read first. A program that runs
/// at that time, or a change of the terminal's mode, takes it: it is sent again.
const END_OF_INPUT: u8 = 4;
const AGAIN: Duration = Duration::from_millis(500);
/// Bytes forwarded at once: POSIX lets a writable pipe accept 512 (`_POSIX_PIPE_BUF`) as a whole.
const PIECE: usize = 512;
/// Longest wait, since the guest may be stopped meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A terminal while a guest has it: it passes keys on as they are, and echoes none.
pub(super) struct Attached<'a> {
    terminal: Terminal<'a>,
    /// The input, until its end.
    input: Option<File>,
    keys: File,
    /// Time at which the end of input was last sent.
    ended: Option<Instant>,
    guest: Option<OwnedFd>,
    before: Option<Termios>,
}

impl<'a> Attached<'a> {
    pub(super) fn new(terminal: Terminal<'a>) -> io::Result<Self> {
        let (guest, keys) = pipe_with(PipeFlags::CLOEXEC)?;
        let input = File::from(terminal.input.try_clone_to_owned()?);
        // What is no terminal has no attributes.
        let before = tcgetattr(terminal.input).ok();
        if let Some(before) = &before {
            let mut raw = before.clone();
            // Ctrl-C and Ctrl-Z stay with the program around the guest.
            raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
            tcsetattr(terminal.input, OptionalActions::Now, &raw)?;
        }
        let (input, keys, guest) = (Some(input), File::from(keys), Some(guest));
        Ok(Self { terminal, input, keys, ended: None, guest, before })
    }

    /// Takes the guest's end of the pipe of typed keys.
    pub(super) fn guest_input(&mut self) -> Option<OwnedFd> {
        self.guest.take()
    }

    /// Shows output of the guest.
    pub(super) fn show(&mut self, printed: &[u8]) -> io::Result<()> {
        if printed.is_empty() {
            return Ok(());
        }
        self.terminal.output.write_all(printed)?;
        self.terminal.output.flush()
    }

    /// Waits at most `limit` for keys, and forwards as many as the guest's pipe has space for.
    pub(super) fn pass_on(&mut self, limit: Duration) -> io::Result<()> {
        let pause = timespec(limit.min(POLL_INTERVAL));
        // A full pipe means that the guest does not read: its keys wait in the terminal.
        let mut room = [PollFd::new(&self.keys, PollFlags::OUT)];
        poll(&mut room, Some(&timespec(Duration::ZERO)))?;
        let has_room = room[0].revents() == PollFlags::OUT;
        let input = self.input.as_ref().filter(|_| has_room);
        let mut typed: Vec<_> =
            input.iter().map(|input| PollFd::new(*input, PollFlags::IN)).collect();
        match poll(&mut typed, Some(&pause)) {
            Ok(0) | Err(Errno::INTR) => return self.end_again(has_room),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let Some(input) = &mut self.input else { return Ok(()) };
        let mut piece = [0; PIECE];
        match input.read(&mut piece) {
            Ok(0) => {
                self.input = None;
                self.end_again(true)
            }
            Ok(length) => self.keys.write_all(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Sends the end of the input, if it has ended and that was not sent recently.
    fn end_again(&mut self, has_room: bool) -> io::Result<()> {
        let is_recent = self.ended.is_some_and(|at| at.elapsed() < AGAIN);
        if self.input.is_some() || !has_room || is_recent {
            return Ok(());
        }
        // Recorded before the write, so that a failing write is not repeated at once.
        self.ended = Some(Instant::now());
        self.keys.write_all(&[END_OF_INPUT])
    }
}

/// Converts a duration below a second.
fn timespec(span: Duration) -> Timespec {
    debug_assert!(span < Duration::from_secs(1), "only fractions of a second are waited for");
    Timespec { tv_sec: 0, tv_nsec: i64::from(span.subsec_nanos()) }
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = tcsetattr(self.terminal.input.as_fd(), OptionalActions::Now, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_reach_the_guest_and_their_end_follows_them() {
        let (typed, mut user) =
            pipe_with(PipeFlags::CLOEXEC).map(|(r, w)| (r, File::from(w))).unwrap();
        let mut shown = Vec::new();
        let terminal = Terminal { input: typed.as_fd(), output: &mut shown };
        let mut attached = Attached::new(terminal).unwrap();
        let mut guest = File::from(attached.guest_input().unwrap());
        assert!(attached.guest_input().is_none());
        user.write_all(b"ls\n").unwrap();
        attached.pass_on(Duration::ZERO).unwrap();
        let mut got = [0; 16];
        assert_eq!((guest.read(&mut got).unwrap(), &got[..3]), (3, &b"ls\n"[..]));
        attached.pass_on(Duration::ZERO).unwrap();
        drop(user);
        attached.pass_on(Duration::ZERO).unwrap();
        assert_eq!((guest.read(&mut got).unwrap(), got[0]), (1, END_OF_INPUT));
        attached.show(b"sda").unwrap();
        drop(attached);
        assert_eq!(shown, b"sda");
    }

    #[test]
    fn nothing_is_read_that_the_guest_has_no_room_for() {
        let (typed, user) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        let mut shown = Vec::new();
        let terminal = Terminal { input: typed.as_fd(), output: &mut shown };
        let mut attached = Attached::new(terminal).unwrap();
        let mut user = File::from(user);
        for _ in 0..400 {
            user.write_all(&[b'x'; PIECE]).unwrap();
            attached.pass_on(Duration::ZERO).unwrap();
            // The user's own pipe fills up once nothing is taken from it.
            let mut room = [PollFd::new(&user, PollFlags::OUT)];
            if poll(&mut room, Some(&timespec(Duration::ZERO))).unwrap() == 0 {
                return;
            }
        }
        panic!("200 KiB went into pipes of 64 KiB");
    }
}
