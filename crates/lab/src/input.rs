//! Files that users give us to read: never more than their kind holds, and never for ever.
//!
//! A name may stand for anything: a device without an end, a pipe without a writer, a disk.
//! In each case, reading ends at a limit, at Ctrl-C, or with a message that says what it is.

use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Read};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use drivelab_core::{AtPath as _, Bytes, Refusal};
use drivelab_formats::paste::{self, Paste};
use drivelab_host::KernelLog;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use crate::interrupt;

/// The kind of an input, and its size limit.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    what: &'static str,
    limit: Bytes,
}

/// A study: the largest of ours has 12 KiB.
pub const STUDY: Kind = Kind { what: "study file", limit: Bytes::mib(1) };
/// A job file of fio's.
pub const JOB: Kind = Kind { what: "job file", limit: Bytes::mib(1) };
/// A recipe; the largest of ours has 2 KiB.
pub const RECIPE: Kind = Kind { what: "recipe of a suite", limit: Bytes::mib(1) };
/// A test against power cuts; the largest of ours has 2 KiB.
pub const CRASH: Kind = Kind { what: "crash file", limit: Bytes::mib(1) };
/// A program whose I/O is counted.
pub const COST: Kind = Kind { what: "cost file", limit: Bytes::mib(1) };
/// A bill: a program with ten thousand files has 4 MiB.
pub const BILL: Kind = Kind { what: "bill of `cost`", limit: Bytes::mib(64) };
/// A list of hosts: a million names.
pub const HOSTS: Kind = Kind { what: "list of hosts", limit: Bytes::mib(32) };
/// A sweep.
pub const SWEEP: Kind = Kind { what: "sweep file", limit: Bytes::mib(1) };
/// A matrix.
pub const MATRIX: Kind = Kind { what: "matrix file", limit: Bytes::mib(1) };
/// A drive's profile, or a parameter file of `DiskSim`, whose largest have 100 KiB.
pub const PROFILE: Kind = Kind { what: "drive profile", limit: Bytes::mib(4) };
/// Figures that a profile is fitted to.
pub const MEASUREMENTS: Kind = Kind { what: "file of measurements", limit: Bytes::mib(4) };
/// Causes of differences that a user adds.
pub const CAUSES: Kind = Kind { what: "file of causes", limit: Bytes::mib(1) };
/// Figures to be explained.
pub const FIGURES: Kind = Kind { what: "file of figures", limit: Bytes::mib(1) };
/// Runs, or results of other tools: a run of an hour has 1 MiB, a log of every request 100.
pub const RESULTS: Kind = Kind { what: "file of results", limit: Bytes::mib(128) };
/// Longest line of a trace; the formats that are read need some hundred bytes.
const LINE_BYTES_MAX: usize = 4096;
/// The interval between checks for an interrupt, and the number of tries before a pipe without a
/// writer is given up.
const TICK_MS: i64 = 100;
const TICKS_WITHOUT_WRITER: u32 = 20;

/// Reads a file whole.
pub fn text(path: &Path, kind: Kind) -> Result<String, Refusal> {
    String::from_utf8(bytes(path, kind)?).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|b| *b == b'\n');
        let (name, line) = (path.display(), line.count());
        Refusal::request(format!("`{name}`, line {line}: not UTF-8 text"))
            .hint(format!("a {} is text", kind.what))
    })
}

/// Reads a file whole, as text that people may have copied from anywhere.
pub fn pasted(path: &Path, kind: Kind) -> Result<Paste, Refusal> {
    Ok(paste::clean(bytes(path, kind)?))
}

/// Reads a kernel log of any length.
pub fn kernel_log(path: &Path) -> Result<KernelLog, Refusal> {
    let what = "read the kernel log";
    let log = KernelLog::read(Patient::open(path, what)?);
    if interrupt::requested() {
        return Err(interrupted(path));
    }
    match log {
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            let refusal = Refusal::request(format!("`{}` {error}", path.display()));
            Err(refusal.hint("check the file name"))
        }
        Ok(log) if !log.is_one() => {
            let name = path.display();
            let message = if log.present {
                format!("`{name}` is not a kernel log: none of its lines has the form of one")
            } else {
                format!("`{name}` is not a kernel log: it is empty")
            };
            Err(Refusal::request(message)
                .hint("give the output of `sudo dmesg` or `journalctl --dmesg`"))
        }
        log => log.at_path(what, path),
    }
}

fn bytes(path: &Path, kind: Kind) -> Result<Vec<u8>, Refusal> {
    // One byte more shows that the file exceeds the limit.
    let bytes = up_to(path, kind, kind.limit.get() + 1)?;
    if bytes.len() as u64 <= kind.limit.get() {
        return Ok(bytes);
    }
    let (name, Kind { what, limit }) = (path.display(), kind);
    Err(Refusal::request(format!("`{name}` is larger than {limit}, the limit for a {what}"))
        .hint("check the file name"))
}

fn up_to(path: &Path, kind: Kind, limit: u64) -> Result<Vec<u8>, Refusal> {
    let what = format!("read the {}", kind.what);
    let input = Patient::open(path, &what)?;
    // Room that grows by doubling would be filled with zeros beyond the end of the file.
    let held = input.file.metadata().map_or(0, |about| about.len()).min(limit);
    let mut bytes = Vec::with_capacity(usize::try_from(held).unwrap_or_default());
    input.take(limit).read_to_end(&mut bytes).at_path(&what, path)?;
    if interrupt::requested() {
        return Err(interrupted(path));
    }
    Ok(bytes)
}

/// The user ended the reading of `path`.
pub fn interrupted(path: &Path) -> Refusal {
    Refusal::interrupted(format!("interrupted while reading `{}`", path.display()))
}

/// The lines of a file of any length.
#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    what: &'static str,
    input: BufReader<Patient>,
    line: Vec<u8>,
    count: u64,
}

impl Lines {
    /// The lines of the file, or of standard input where `path` is `-`; `what` is said where that
    /// fails.
    pub fn open(path: &Path, what: &'static str) -> Result<Self, Refusal> {
        let input = BufReader::with_capacity(1 << 16, Patient::open(path, what)?);
        Ok(Self { path: path.to_owned(), what, input, line: Vec::new(), count: 0 })
    }

    /// The length of the file, where it has one.
    pub fn length(&self) -> u64 {
        self.input.get_ref().file.metadata().map_or(0, |about| about.len())
    }

    /// The next line and its bytes in the file; `None` at the end, and after an interrupt.
    pub fn next_line(&mut self) -> Result<Option<(&str, u64)>, Refusal> {
        self.line.clear();
        self.count += 1;
        // One byte more, as a line may end exactly at the limit.
        let mut part = (&mut self.input).take(LINE_BYTES_MAX as u64 + 1);
        let length = part.read_until(b'\n', &mut self.line).at_path(self.what, &self.path)?;
        let wrong = |why: &str| {
            Refusal::request(format!("{}, line {}: {why}", self.path.display(), self.count))
        };
        if length > LINE_BYTES_MAX && !self.line.ends_with(b"\n") {
            return Err(wrong(&format!("the line is longer than {LINE_BYTES_MAX} bytes"))
                .hint("check the file name"));
        }
        let text = std::str::from_utf8(&self.line)
            .map_err(|_| wrong("not UTF-8 text").hint("check the file name"))?;
        Ok((length > 0).then_some((text, length as u64)))
    }
}

/// A file that is read without being waited for longer than the user wants: an interrupt is its
/// end, and so is a pipe that has no writer.
#[derive(Debug)]
struct Patient {
    file: File,
    /// A named pipe whose other end has not been seen open.
    lonely: bool,
}

impl Patient {
    /// Opens a file; a pipe and a terminal too, without waiting. `-` is standard input.
    fn open(path: &Path, what: &str) -> Result<Self, Refusal> {
        if path == Path::new("-") {
            // A copy: dropping the file must not close standard input.
            let stdin = std::io::stdin().as_fd().try_clone_to_owned().at_path(what, path)?;
            return Ok(Self { file: stdin.into(), lonely: false });
        }
        // A pipe without a writer would block (`man 7 fifo`), and a terminal could become the
        // controlling one (`man 2 open`).
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(path).at_path(what, path)?;
        let kind = file.metadata().at_path(what, path)?.file_type();
        if kind.is_dir() {
            let error = std::io::Error::from(ErrorKind::IsADirectory);
            return Err(error).at_path(what, path);
        }
        if kind.is_block_device() {
            let message = format!("cannot {what} `{}`: it is a block device", path.display());
            return Err(Refusal::request(message).hint("name a file"));
        }
        Ok(Self { file, lonely: kind.is_fifo() })
    }

    /// True if there is something to read, or the end, within a tick.
    fn is_ready(&self) -> std::io::Result<bool> {
        let tick = Timespec { tv_sec: 0, tv_nsec: TICK_MS * 1_000_000 };
        let mut wanted = [PollFd::new(&self.file, PollFlags::IN)];
        match poll(&mut wanted, Some(&tick)) {
            Ok(ready) => Ok(ready > 0),
            // The caller looks whether the signal was an interruption.
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut ticks = 0;
        while !interrupt::requested() {
            let ready = self.is_ready()?;
            if !ready && !self.lonely {
                continue;
            }
            // If a pipe is not ready, 0 bytes mean that its other end is not open.
            match self.file.read(buffer) {
                Ok(0) if !ready => ticks += 1,
                // A writer has the pipe open and is only slow.
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.lonely = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                done => return done,
            }
            if ticks >= TICKS_WITHOUT_WRITER {
                let why = "it is a pipe that no process writes to";
                return Err(std::io::Error::new(ErrorKind::InvalidInput, why));
            }
        }
        Ok(0)
    }
}
