//! The commands of a build: run, logged, counted and stopped.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use drivelab_core::control::{Control, Event};
use drivelab_files::Folder;
use rustix::process::{Pid, Signal, kill_process_group};

use super::error::{BuildError, at};

/// The approximate number of files that are compiled with this configuration.
pub const COMPILED_ABOUT: u64 = 930;

/// Interval at which the stop flag is checked; a build takes minutes.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Fixed values for the user, host and time of the build, so that the same source always
/// gives the same kernel.
const IDENTITY: [(&str, &str); 4] = [
    ("KBUILD_BUILD_USER", "drivelab"),
    ("KBUILD_BUILD_HOST", "lab"),
    ("KBUILD_BUILD_TIMESTAMP", "2025-01-01"),
    // Else the number of times that it was linked.
    ("KBUILD_BUILD_VERSION", "1"),
];

/// The log of the commands of a build.
pub(super) struct Log {
    file: File,
    path: PathBuf,
}

impl Log {
    /// Creates it in `folder`, and removes that of the last build.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        const NAME: &str = "build.log";
        let folder = Folder::open(folder)?;
        match folder.remove_file(NAME) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        Ok(Self { file: folder.create_new(NAME)?, path: folder.path().join(NAME) })
    }
}

/// Runs the commands of a build.
pub(super) struct Steps<'a> {
    pub(super) folder: &'a Path,
    pub(super) log: Log,
    pub(super) control: &'a Control<'a>,
    /// True to report how many files were compiled.
    pub(super) is_counted: Cell<bool>,
}

impl Steps<'_> {
    pub(super) fn begin(&self, step: &str) {
        self.control.report(Event::Note(&format!("guest kernel: {step}")));
    }

    /// Runs a command in `folder`; its output is appended to the log.
    pub(super) fn run(
        &self,
        program: &str,
        arguments: &[&str],
        folder: &Path,
    ) -> Result<(), BuildError> {
        let step = format!("{program} {}", arguments.join(" "));
        let mut out = self.log.file.try_clone().map_err(at("write the log of the build"))?;
        writeln!(out, "$ {step}").map_err(at("write the log of the build"))?;
        let err = out.try_clone().map_err(at("write the log of the build"))?;
        let mut command = Command::new(program);
        // Its own process group, so that Ctrl-C reaches drivelab alone and the compilers can be
        // killed.
        command.args(arguments).current_dir(folder).process_group(0).stdin(Stdio::null());
        // English messages, in which `last` looks for errors.
        command.stdout(out).stderr(err).envs(IDENTITY).env("LC_ALL", "C");
        let mut child = Group(command.spawn().map_err(at("start a step of the build"))?);
        let mut compiled = Compiled::new(&self.log.path);
        loop {
            if self.control.stopped() {
                return Err(BuildError::Stopped);
            }
            match child.0.try_wait().map_err(at("wait for a step of the build"))? {
                Some(status) if status.success() => return Ok(()),
                Some(_) => {
                    return Err(BuildError::Failed {
                        step,
                        last: self.last(),
                        log: self.log.path.clone(),
                        from_kept: false,
                    });
                }
                None => std::thread::sleep(POLL_INTERVAL),
            }
            if let Some(count) = compiled.more()
                && self.is_counted.get()
            {
                // The number of files is an estimate, and progress must not pass its end.
                let (done, of) = (count.min(COMPILED_ABOUT), COMPILED_ABOUT);
                self.control.report(Event::Steps { what: "files compiled", done, of });
            }
        }
    }

    /// Returns the output of a short command.
    pub(super) fn output(&self, program: &str, arguments: &[&str]) -> Result<String, BuildError> {
        let output = Command::new(program).args(arguments).current_dir(self.folder).output();
        let output = output.map_err(at("find the version of the source"))?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if text.is_empty() {
            let last = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(BuildError::NoSource { last });
        }
        Ok(text)
    }

    /// Returns the last error in the log, or else its last line.
    fn last(&self) -> String {
        let log = fs::read(&self.log.path).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines = log.lines().rev();
        // A parallel make prints the failing command before those of the other jobs that still ran.
        // Those of compilers, of apt-get and of patch, which goes on with the next file.
        let errors = lines.clone().find(|line| {
            line.contains("error") || line.starts_with("E: ") || line.contains(" FAILED -- ")
        });
        errors.or_else(|| lines.clone().find(|line| !line.trim().is_empty())).unwrap_or("").into()
    }
}

/// Counts the files that a step has compiled, from the log.
struct Compiled {
    log: Option<File>,
    count: u64,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
}

impl Compiled {
    /// Counts from the current end of `log` on.
    fn new(log: &Path) -> Self {
        let mut file = File::open(log).ok();
        // Earlier steps are in the same log.
        let at_end = file.as_mut().map(|file| file.seek(SeekFrom::End(0)));
        Self { log: file.filter(|_| matches!(at_end, Some(Ok(_)))), count: 0, rest: Vec::new() }
    }

    /// Returns the count, if it has grown.
    fn more(&mut self) -> Option<u64> {
        let before = self.count;
        self.log.as_mut()?.read_to_end(&mut self.rest).ok()?;
        let whole = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let lines = self.rest[..whole].split(|byte| *byte == b'\n');
        self.count += lines.filter(|line| line.starts_with(b"  CC ")).count() as u64;
        debug_assert!(whole <= self.rest.len(), "complete lines are part of the text");
        self.rest.drain(..whole);
        (self.count > before).then_some(self.count)
    }
}

/// A command and its descendants; killed on drop.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // After a successful wait the group may be empty, and its number that of another group.
        if let Ok(None) = self.0.try_wait() {
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn files_are_counted_as_they_are_compiled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "  CC      before.o\n").unwrap();
        let mut compiled = Compiled::new(&path);
        let mut log = fs::OpenOptions::new().append(true).open(&path).unwrap();
        let mut check = |text: &str, expected| {
            log.write_all(text.as_bytes()).unwrap();
            assert_eq!(compiled.more(), expected, "{text}");
        };
        check("  CC      a.o\n  HOSTCC  x\n  CC ", Some(1));
        check("     b.o", None);
        check("\n  CC      c.o\n", Some(3));
    }

    #[test]
    fn a_step_that_fails_says_what_it_printed_and_one_can_be_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let (log, stop) = (Log::new(folder.path()).unwrap(), AtomicBool::new(false));
        let control = Control::silent(&stop);
        let steps =
            Steps { folder: folder.path(), log, control: &control, is_counted: Cell::new(true) };
        steps.run("sh", &["-c", "echo fine"], folder.path()).unwrap();
        let script = "echo 'x.c:1: error: no'; echo more; exit 2";
        let error = steps.run("sh", &["-c", script], folder.path()).unwrap_err();
        assert!(error.to_string().ends_with("failed: x.c:1: error: no"), "{error}");
        assert_eq!(steps.output("printf", &["6.12-1"]).unwrap(), "6.12-1");
        stop.store(true, Ordering::Relaxed);
        let error = steps.run("sleep", &["600"], folder.path()).unwrap_err();
        assert!(matches!(error, BuildError::Stopped), "{error}");
    }
}
