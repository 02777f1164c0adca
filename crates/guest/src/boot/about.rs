//! The parts of a guest, and the result of its run.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use drivelab_core::{Bytes, Span, Time};
use thiserror::Error;

use super::limit::Limit;
use crate::calendar::CalendarError;
use crate::machine::{BlockError, Hardware, QueueError};
use crate::vhost::VhostError;

/// The parts and limits of a guest.
#[derive(Debug)]
pub struct Guest<'a> {
    /// A UML kernel of Linux 6.12 or later, with time travel.
    pub kernel: &'a Path,
    /// Its root, a cpio archive.
    pub initramfs: &'a [u8],
    /// Its memory.
    pub memory: Bytes,
    /// The number of commands that it may have in the drive, behind virtio: 1 to 128.
    pub tags: u16,
    /// Added to the kernel command line.
    pub arguments: &'a [String],
    /// The longest virtual time without a message, if the times of its lines matter: the time of a
    /// line is that of the next message.
    pub tick: Option<Span>,
    /// Limit of its processor time and real time.
    pub limit: Limit,
    /// Ends it when set.
    pub stop: &'a AtomicBool,
}

/// The reason for the end of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It switched itself off.
    PoweredOff,
    /// Its kernel panicked, or refused to start.
    Crashed(ExitStatus),
    /// It took too long in real time.
    TimedOut,
    /// It used a processor for too long: it does not end, or has more to do.
    UsedUp,
    /// It waits for something that cannot happen.
    Deadlocked,
    /// The user asked to stop.
    Stopped,
}

/// A line that a guest printed on its console of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Time by which it was printed; nothing happened on the disk in between.
    pub at: Time,
    /// The line, without its end.
    pub text: String,
}

/// The result of a guest's run.
#[derive(Debug, Clone)]
pub struct RunResult {
    /// The reason for its end.
    pub how: End,
    /// Virtual time that it ran.
    pub took: Span,
    /// Real time that it ran.
    pub wall: Duration,
    /// Processor time of it and its programs.
    pub processor: Duration,
    /// The number of requests that it sent to its drive.
    pub requests: u64,
    /// The hash of the trace of its requests.
    pub trace_sha256: String,
    /// The output of its kernel and programs.
    pub console: String,
    /// The hash of the console.
    pub console_sha256: String,
    /// The output of its second console, which carries results.
    pub results: String,
    /// The complete lines of that output.
    pub lines: Vec<Line>,
}

#[cfg(test)]
impl RunResult {
    /// A guest that ended so and printed nothing.
    pub(crate) fn silent(how: End) -> Self {
        Self {
            how,
            took: Span::ZERO,
            wall: Duration::ZERO,
            processor: Duration::ZERO,
            requests: 0,
            trace_sha256: String::new(),
            console: String::new(),
            console_sha256: String::new(),
            results: String::new(),
            lines: Vec::new(),
        }
    }
}

/// The reason why a guest could not be run to its end.
#[derive(Debug, Error)]
pub enum GuestError {
    /// A system call or file operation failed.
    #[error("cannot {operation}")]
    System {
        /// The operation.
        operation: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A program that starts guests is missing.
    #[error("`{program}` is not installed")]
    Missing {
        /// Its name.
        program: &'static str,
    },
    /// The guest broke the protocol of the calendar.
    #[error(transparent)]
    Calendar(#[from] CalendarError),
    /// The guest broke the protocol of its drive.
    #[error(transparent)]
    Vhost(#[from] VhostError),
    /// The guest asked its drive for something impossible.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// The guest used a connection that it had not made.
    #[error("the guest used its drive before it had connected to it")]
    Early,
    /// The guest did not take an interrupt.
    #[error("the guest refused an interrupt")]
    Interrupt,
}

impl From<QueueError> for GuestError {
    fn from(error: QueueError) -> Self {
        Self::Block(error.into())
    }
}

impl GuestError {
    pub(super) fn at(operation: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::System { operation, source }
    }
}

/// The time of day at which a guest's clock starts: 2025-01-01, in nanoseconds since 1970.
pub(crate) const START_NS: u64 = 1_735_689_600_000_000_000;

/// Names in the folder of a run. The kernel command line seeds the guest's random numbers, so they
/// never change.
pub(super) const CLOCK: &str = "clock";
pub(super) const ROOT: &str = "root";

/// The name of the socket of an adapter.
pub(super) fn disk_socket(number: usize) -> String {
    if number == 0 { "disk".into() } else { format!("disk{number}") }
}

impl Guest<'_> {
    /// The kernel command line.
    pub(super) fn command_line(&self, hardware: &[Hardware], is_attended: bool) -> Vec<String> {
        // Without a terminal a shell that reads its input must see the end of it, not wait.
        let input = if is_attended { "fd:0" } else { "null" };
        let mut line = vec![
            format!("mem={}M", self.memory.get() >> 20),
            format!("initrd={ROOT}"),
            format!("time-travel=ext:{CLOCK}"),
            format!("time-travel-start={START_NS}"),
        ];
        line.extend(hardware.iter().enumerate().map(|(number, hardware)| {
            format!("virtio_uml.device={}:{}", disk_socket(number), hardware.device_id())
        }));
        line.extend([
            "con=null".into(),
            format!("con0={input},fd:1"),
            "con1=null,fd:2".into(),
            "stderr=0".into(),
            "uml_dir=.".into(),
            "umid=guest".into(),
            "norandmaps".into(),
            // Ends at once, so that a panic is seen as the end of the process.
            "panic=-1".into(),
        ]);
        if hardware.iter().any(|it| matches!(it, Hardware::Block(_))) {
            line.push(format!("virtio_blk.queue_depth={}", self.tags));
        }
        if is_attended {
            // Input raises no event in virtual time: the tick, a hundred times a second, finds it.
            line.push("nohz=off".into());
        }
        line.extend_from_slice(self.arguments);
        line
    }
}

/// Finds a program that starts guests, in the folders of the `PATH` with which guests are started.
pub(super) fn find_program(program: &'static str) -> Result<PathBuf, GuestError> {
    let mut paths = ["/usr/bin", "/bin"].iter().map(|folder| Path::new(folder).join(program));
    paths.find(|path| path.exists()).ok_or(GuestError::Missing { program })
}
