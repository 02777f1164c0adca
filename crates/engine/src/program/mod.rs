//! A command as a workload: in its own process group, with a time limit, its output kept.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use drivelab_core::units::{Bytes, Span};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use serde::{Deserialize, Serialize};

use crate::sys::child;

/// Time between two checks of the stop flag, the time and the size of the output. The end itself is
/// not polled.
const LOOK: Duration = Duration::from_millis(20);
/// Time that a group may take to end after a request; less than an interrupted verb has.
const GRACE: Duration = Duration::from_millis(500);
/// Maximum output of a command: it is kept in memory, off the disk under test.
const OUTPUT_MAX: Bytes = Bytes::mib(64);
/// The variable and the locale that commands run in: numbers have a decimal point, and messages are
/// those that patterns were written for.
pub const LOCALE: (&str, &str) = ("LC_ALL", "C.UTF-8");
const HELD: &str = "no code panics while it holds the lock";

/// A command to run.
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    /// The text passed to a POSIX shell.
    pub command: &'a str,
    /// Its time limit.
    pub timeout: Span,
    /// Ends it when set.
    pub stop: &'a AtomicBool,
}

/// The result of a command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ran {
    /// The way in which it ended.
    pub end: ProgramEnd,
    /// From immediately before the shell was started to its end.
    pub wall: Span,
    /// Processor time of it and of the processes that it waited for, user and system.
    pub cpu: Span,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// The way in which a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProgramEnd {
    /// By itself, with this exit status; 0 is success.
    Exited(i32),
    /// By a signal that is not ours.
    Signalled(i32),
    /// It exceeded its time limit.
    TimedOut,
    /// It printed too much.
    TooLoud,
    /// The user stopped it.
    Stopped,
}

impl ProgramEnd {
    fn of(status: ExitStatus) -> Self {
        match status.code() {
            Some(code) => Self::Exited(code),
            None => Self::Signalled(status.signal().unwrap_or_default()),
        }
    }
}

impl Program<'_> {
    /// Runs it to its end. Any remaining processes of its group are then killed.
    ///
    /// # Errors
    /// The shell cannot be started.
    pub fn run(&self) -> io::Result<Ran> {
        let (stdout, stderr) = (Output::new("stdout")?, Output::new("stderr")?);
        let mut shell = Command::new("sh");
        // In a new process group: its children are signalled with it, and Ctrl-C does not reach
        // them.
        shell.args(["-c", self.command]).process_group(0).stdin(Stdio::null());
        shell.env(LOCALE.0, LOCALE.1);
        shell.stdout(stdout.writer()?).stderr(stderr.writer()?);
        let begin = Instant::now();
        let group = Group { pid: Pid::from_child(&shell.spawn()?), reaped: Mutex::new(false) };
        let (send, ended) = mpsc::channel();
        let (own, ended) = std::thread::scope(|scope| {
            scope.spawn(|| send.send(group.wait()));
            self.watch(&group, begin, &ended, [&stdout, &stderr])
        });
        let (at, status, cpu) = ended?;
        let wall = at.saturating_duration_since(begin);
        Ok(Ran {
            end: own.unwrap_or_else(|| ProgramEnd::of(status)),
            wall: Span::from_ns(u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX)),
            cpu,
            stdout: stdout.text()?,
            stderr: stderr.text()?,
        })
    }

    /// Waits for the end, and causes it if necessary; returns the reason.
    fn watch(
        &self,
        group: &Group,
        begin: Instant,
        ended: &mpsc::Receiver<io::Result<Ended>>,
        outputs: [&Output; 2],
    ) -> (Option<ProgramEnd>, io::Result<Ended>) {
        let timeout = Duration::from_nanos(self.timeout.ns());
        let mut why: Option<(ProgramEnd, Instant)> = None;
        loop {
            match ended.recv_timeout(LOOK) {
                Ok(ended) => return (why.map(|(why, _)| why), ended),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    unreachable!("the waiting thread sends before it ends")
                }
            }
            match why {
                Some((_, since)) if since.elapsed() > GRACE => group.signal(Signal::KILL),
                Some(_) => {}
                None => {
                    let must = if self.stop.load(Ordering::Relaxed) {
                        ProgramEnd::Stopped
                    } else if begin.elapsed() > timeout {
                        ProgramEnd::TimedOut
                    } else if outputs.iter().any(|output| output.is_too_long()) {
                        ProgramEnd::TooLoud
                    } else {
                        continue;
                    };
                    group.signal(Signal::TERM);
                    why = Some((must, Instant::now()));
                }
            }
        }
    }
}

type Ended = (Instant, ExitStatus, Span);

/// The process group of a command; its id stays in use until the shell is reaped.
struct Group {
    pid: Pid,
    reaped: Mutex<bool>,
}

impl Group {
    /// Waits for the shell to end, and ends any processes that it left behind.
    fn wait(&self) -> io::Result<Ended> {
        // Not reaped yet: until then no other process can get its id, which is also that of the
        // group.
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(error) = waitid(WaitId::Pid(self.pid), ended) {
            if error != rustix::io::Errno::INTR {
                return Err(error.into());
            }
        }
        let at = Instant::now();
        self.signal(Signal::KILL);
        // Under the lock: a signal sent after the reaping could hit a new group with the same id.
        let mut reaped = self.reaped.lock().expect(HELD);
        assert!(!*reaped, "the shell is reaped once");
        *reaped = true;
        let (status, cpu) = child::wait(self.pid)?;
        Ok((at, status, cpu))
    }

    fn signal(&self, signal: Signal) {
        let reaped = self.reaped.lock().expect(HELD);
        if !*reaped {
            // A group without processes is the desired state.
            let _ = kill_process_group(self.pid, signal);
        }
    }
}

/// The output of a command, in memory.
struct Output(File);

impl Output {
    fn new(name: &str) -> io::Result<Self> {
        Ok(Self(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?)))
    }

    fn writer(&self) -> io::Result<Stdio> {
        Ok(self.0.try_clone()?.into())
    }

    fn is_too_long(&self) -> bool {
        self.0.metadata().is_ok_and(|about| about.len() > OUTPUT_MAX.get())
    }

    fn text(mut self) -> io::Result<String> {
        let mut bytes = Vec::new();
        // The writers are duplicates, which share one file position with this descriptor.
        self.0.seek(SeekFrom::Start(0))?;
        self.0.take(OUTPUT_MAX.get()).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str, timeout: Span) -> Ran {
        Program { command, timeout, stop: &AtomicBool::new(false) }.run().unwrap()
    }

    /// Waits for a killed process to disappear: a signal does not act at once.
    fn is_killed(pid: &str) -> bool {
        let since = Instant::now();
        let stat = format!("/proc/{}/stat", pid.trim());
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            if since.elapsed() > Duration::from_secs(60) {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }

    /// Long enough that only a defect reaches it.
    const LONG: Span = Span::from_secs(600);

    #[test]
    fn what_a_command_prints_and_how_it_ends_is_kept() {
        let ran = run("echo out; echo err >&2; exit 7", LONG);
        assert_eq!(ran.end, ProgramEnd::Exited(7));
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("out\n", "err\n"));
        let ran = run("kill -9 $$", LONG);
        assert_eq!(ran.end, ProgramEnd::Signalled(9));
    }

    #[test]
    fn a_command_has_the_locale_whose_numbers_have_a_point() {
        let locale = run("echo $LC_ALL; LC_ALL=de_DE.UTF-8; echo $LC_ALL", LONG);
        assert_eq!(locale.stdout, "C.UTF-8\nde_DE.UTF-8\n");
    }

    #[test]
    fn processor_time_is_that_of_the_command_and_what_it_waited_for() {
        let busy = run("sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'", LONG);
        let idle = run("sleep 0.05", LONG);
        assert!(idle.wall >= Span::from_ms(50) && idle.wall > idle.cpu, "{idle:?}");
        assert!(busy.cpu > idle.cpu, "{busy:?} {idle:?}");
        assert!(busy.cpu.ns() <= 4 * busy.wall.ns(), "{busy:?}");
    }

    #[test]
    fn a_command_that_takes_too_long_dies_with_all_that_it_started() {
        // The second process ignores a request to end.
        let deaf = "sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & sleep 1000";
        let ran = run(deaf, Span::from_ms(300));
        assert_eq!(ran.end, ProgramEnd::TimedOut);
        assert!(!ran.stdout.is_empty() && is_killed(&ran.stdout), "{ran:?}");
    }

    #[test]
    fn what_a_command_leaves_behind_ends_with_it() {
        let ran = run("sleep 1000 & echo $!", LONG);
        assert_eq!(ran.end, ProgramEnd::Exited(0));
        assert!(is_killed(&ran.stdout), "{ran:?}");
    }

    #[test]
    fn a_stopped_command_dies_and_a_loud_one_too() {
        let stop = AtomicBool::new(true);
        let ran = Program { command: "sleep 1000", timeout: LONG, stop: &stop }.run().unwrap();
        assert_eq!(ran.end, ProgramEnd::Stopped);
        assert_eq!(run("yes", LONG).end, ProgramEnd::TooLoud);
    }
}
