//! The process of a guest: alone in its process group, on one core, and killed with its owner.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use drivelab_core::{Time, hexadecimal};
use rustix::io::Errno;
use rustix::param::clock_ticks_per_second;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use sha2::{Digest as _, Sha256};

use super::about::Line;

/// Size of a pipe for output. A full one would block the guest, in real time, until it is read.
const PIPE_BYTES: usize = 1 << 20;
/// Maximum size of the kept output; the hash covers all of it.
const OUTPUT_MAX: usize = 16 << 20;

/// A running guest; it is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    reaped: Option<ExitStatus>,
}

impl Process {
    /// Starts a kernel in `folder`, the addresses of its memory not randomised; it dies with us.
    pub(super) fn start(
        kernel: &Path,
        folder: &Path,
        arguments: &[String],
        input: Option<OwnedFd>,
        outputs: [OwnedFd; 2],
    ) -> io::Result<Self> {
        let [out, err] = outputs;
        let mut command = Command::new("setarch");
        command.args(["x86_64", "--addr-no-randomize", "setpriv", "--pdeathsig", "KILL"]);
        command.arg(kernel).args(arguments).current_dir(folder).process_group(0);
        // A fixed environment, so that the guest does not depend on that of the user.
        command.env_clear().env("HOME", folder).env("PATH", "/usr/bin:/bin");
        command
            .stdin(input.map_or_else(Stdio::null, Stdio::from))
            .stdout(Stdio::from(out))
            .stderr(Stdio::from(err));
        Ok(Self { child: command.spawn()?, reaped: None })
    }

    /// Returns whether it has ended; the number of its group stays reserved until [`Self::end`].
    pub(super) fn has_ended(&self) -> io::Result<bool> {
        let id = WaitId::Pid(Pid::from_child(&self.child));
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        // NOWAIT leaves the zombie, which keeps the process group's number from being reused.
        Ok(self.reaped.is_some() || waitid(id, options)?.is_some())
    }

    /// Returns the processor time of it and its descendants; zero if the system does not report it.
    pub(super) fn processor_time(&self) -> Duration {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Duration::ZERO };
        let stats = entries
            .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok());
        let ticks: u64 = stats.filter_map(|stat| ticks_in_group(&stat, self.child.id())).sum();
        Duration::from_millis(ticks.saturating_mul(1000) / clock_ticks_per_second())
    }

    /// Kills it and its descendants, if they have not ended, and returns its exit status.
    pub(super) fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.reaped {
            return Ok(status);
        }
        // The whole group: UML runs the guest's programs as processes of the host.
        match kill_process_group(Pid::from_child(&self.child), Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => return Err(error.into()),
        }
        // Only now: before, the number of the group could not be taken by another process.
        let status = self.child.wait()?;
        self.reaped = Some(status);
        Ok(status)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Reads the processor time of a process of this group, and of its children that have ended, from
/// its `stat` (proc(5), fields 5 and 14 to 17).
fn ticks_in_group(stat: &str, group: u32) -> Option<u64> {
    // The second field, a name in parentheses, holds anything.
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let is_member = fields.get(2)?.parse() == Ok(group);
    let ticks = fields.get(11..15)?.iter().filter_map(|ticks| ticks.parse::<u64>().ok());
    is_member.then(|| ticks.sum())
}

/// The output of a guest on one of its consoles.
#[derive(Debug)]
pub(super) struct Output {
    pipe: File,
    pub(super) bytes: Vec<u8>,
    hash: Sha256,
    pub(super) is_open: bool,
    /// Lengths of the output at past times.
    noted: Vec<(usize, Time)>,
    /// Start of the observer's next line, and the offset up to which its end was searched.
    followed: (usize, usize),
}

impl Output {
    /// An output, and the guest's end of its pipe.
    pub(super) fn new() -> io::Result<(Self, OwnedFd)> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        // Only ours: the guest sets its own as it likes.
        rustix::io::ioctl_fionbio(&read, true)?;
        // A user's limit may forbid it; the default of 64 KiB is enough for most.
        let _ = fcntl_setpipe_size(&read, PIPE_BYTES);
        let (pipe, hash) = (File::from(read), Sha256::new());
        let (bytes, noted, followed) = (Vec::new(), Vec::new(), (0, 0));
        Ok((Self { pipe, bytes, hash, is_open: true, noted, followed }, write))
    }

    /// Reads the available output.
    pub(super) fn take(&mut self) -> io::Result<()> {
        let mut buffer = [0; 1 << 14];
        while self.is_open {
            match self.pipe.read(&mut buffer) {
                Ok(0) => self.is_open = false,
                Ok(length) => {
                    self.hash.update(&buffer[..length]);
                    debug_assert!(self.bytes.len() <= OUTPUT_MAX, "no more is kept");
                    let room = OUTPUT_MAX - self.bytes.len();
                    self.bytes.extend_from_slice(&buffer[..length.min(room)]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Records that the output so far was printed by `now`, while the guest is stopped.
    pub(super) fn note(&mut self, now: Time) {
        if self.bytes.len() > self.noted.last().map_or(0, |(length, _)| *length) {
            debug_assert!(
                self.noted.last().is_none_or(|(_, at)| *at <= now),
                "virtual time does not run backwards"
            );
            self.noted.push((self.bytes.len(), now));
        }
    }

    /// Returns the complete lines, with the time by which each was printed.
    pub(super) fn lines(&self) -> Vec<Line> {
        let (mut lines, mut noted, mut end) = (Vec::new(), self.noted.iter().peekable(), 0);
        for line in self.bytes.split_inclusive(|byte| *byte == b'\n') {
            end += line.len();
            // The first note at or after the end of the line is the first time at which it was
            // complete.
            while noted.next_if(|(length, _)| *length < end).is_some() {}
            if let (Some((_, at)), Some(text)) = (noted.peek(), line.strip_suffix(b"\n")) {
                lines.push(Line { at: *at, text: String::from_utf8_lossy(text).into_owned() });
            }
        }
        lines
    }

    /// Returns the observer's next complete line.
    pub(super) fn next_line(&mut self) -> Option<String> {
        let (begin, looked) = self.followed;
        let length = self.bytes[looked..].iter().position(|byte| *byte == b'\n');
        let end = length.map_or(self.bytes.len(), |length| looked + length + 1);
        self.followed = (if length.is_some() { end } else { begin }, end);
        length.map(|_| String::from_utf8_lossy(&self.bytes[begin..end - 1]).into_owned())
    }

    /// Takes the output since the last call, for a terminal.
    pub(super) fn drain(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Returns the kept output, and the hash of all of it.
    pub(super) fn finish(self) -> (String, String) {
        (String::from_utf8_lossy(&self.bytes).replace('\r', ""), hexadecimal(&self.hash.finalize()))
    }
}

impl AsFd for Output {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// Keeps this thread, and what it starts, on one core: guest and machine take turns, and a change
/// of core costs more than a turn.
#[derive(Debug)]
pub(super) struct Pinned {
    before: CpuSet,
    core: usize,
}

/// Cores that guests of this process use.
static TAKEN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

impl Pinned {
    /// Pins to the current core of the thread, or to another if a guest uses that already.
    pub(super) fn here() -> io::Result<Self> {
        let before = sched_getaffinity(None)?;
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let current = sched_getcpu();
        let allowed = (0..CpuSet::MAX_CPU).filter(|core| before.is_set(*core));
        let core = std::iter::once(current).chain(allowed).find(|core| !taken.contains(core));
        // With more guests than cores some share one.
        let core = core.unwrap_or(current);
        let mut here = CpuSet::new();
        here.set(core);
        sched_setaffinity(None, &here)?;
        taken.push(core);
        Ok(Self { before, core })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = taken.iter().position(|core| *core == self.core) {
            taken.swap_remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn the_time_of_a_group_is_that_of_its_processes_and_their_children() {
        let stat = "7 (a) b (c)) S 1 42 42 0 -1 4194560 9 0 0 0 100 20 3 4 20 0 1 0 5 6 7";
        assert_eq!(ticks_in_group(stat, 42), Some(127));
        assert_eq!(ticks_in_group(stat, 7), None);
        assert_eq!(ticks_in_group("7 (a) S 1 42", 42), None);
    }

    #[test]
    fn a_process_that_runs_uses_processor_time() {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]).process_group(0);
        let mut process = Process { child: command.spawn().unwrap(), reaped: None };
        let begun = Instant::now();
        while process.processor_time() < Duration::from_millis(50) {
            assert!(!process.has_ended().unwrap());
            assert!(begun.elapsed() < Duration::from_mins(2), "its time is not counted");
        }
        process.end().unwrap();
    }

    #[test]
    fn a_line_was_printed_when_its_end_was() {
        let (mut output, write) = Output::new().unwrap();
        let mut write = File::from(write);
        for (at, text) in [(1, "a\nb"), (2, ""), (3, "c\nd\n"), (4, "half")] {
            io::Write::write_all(&mut write, text.as_bytes()).unwrap();
            output.take().unwrap();
            output.note(Time::from_ns(at));
        }
        let line = |at, text: &str| Line { at: Time::from_ns(at), text: text.into() };
        assert_eq!(output.lines(), [line(1, "a"), line(3, "bc"), line(3, "d")]);
    }

    #[test]
    fn lines_are_followed_once_and_whole() {
        let (mut output, write) = Output::new().unwrap();
        let mut write = File::from(write);
        let mut check = |text: &str, expected: &[&str]| {
            io::Write::write_all(&mut write, text.as_bytes()).unwrap();
            output.take().unwrap();
            let lines: Vec<String> = std::iter::from_fn(|| output.next_line()).collect();
            assert_eq!(lines, expected, "after {text:?}");
        };
        check("a\n\nb", &["a", ""]);
        check("", &[]);
        check("c", &[]);
        check("d\ne\n", &["bcd", "e"]);
    }
}
