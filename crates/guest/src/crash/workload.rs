//! The result of the guest with the workload.

use drivelab_core::{Refusal, Time};
use thiserror::Error;

use super::scene::{BEGIN, END};
use crate::boot::{End, Line, RunResult, START_NS};
use crate::initramfs;

/// A workload that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadRun {
    /// Times of its beginning and its end.
    pub window: (Time, Time),
    /// The lines that it printed, each with the time by which it was printed.
    pub lines: Vec<Line>,
    /// Its system calls, if they were recorded.
    pub calls: Vec<Line>,
}

/// The reason why no cuts can be made under a workload.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct WorkloadError {
    message: String,
}

impl WorkloadError {
    fn new(message: impl Into<String>, ended: &RunResult) -> Self {
        Self { message: with_output(message, ended) }
    }
}

/// Appends the end of the output of the user's commands, or of the console if they printed
/// nothing, to a message.
pub(crate) fn with_output(message: impl Into<String>, ended: &RunResult) -> String {
    let all: Vec<&str> = ended.console.lines().collect();
    let programs = match ended.how {
        // The reason is the kernel's.
        End::Crashed(_) => Vec::new(),
        _ => of_programs(&all),
    };
    let (whose, lines) =
        if programs.is_empty() { ("the guest's console", all) } else { ("its output", programs) };
    let last = lines[lines.len().saturating_sub(CONSOLE_LINES)..].iter();
    let last = last.map(|line| line.chars().take(LINE_MAX).collect::<String>());
    let last: Vec<String> = last.collect();
    let message = message.into();
    format!("{message}; {whose} ends with:\n  {}", last.join("\n  "))
}

/// Returns the lines of a console that programs printed; those of the kernel begin with a time.
fn of_programs<'a>(console: &[&'a str]) -> Vec<&'a str> {
    let started = console.iter().position(|line| line.contains("] Run /init as init process"));
    // Before init runs, only the kernel prints.
    let since = &console[started.map_or(0, |at| at + 1)..];
    let printed = since.iter().filter(|line| !line.trim().is_empty() && !is_of_kernel(line));
    printed.copied().collect()
}

/// Returns whether a line begins as `[    0.280000] `.
fn is_of_kernel(line: &str) -> bool {
    let time = line.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let seconds = time.and_then(|(time, _)| time.trim_start().split_once('.'));
    seconds.is_some_and(|(whole, fraction)| {
        [whole, fraction]
            .iter()
            .all(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

impl From<WorkloadError> for Refusal {
    fn from(unusable: WorkloadError) -> Self {
        Self::request(unusable.message)
    }
}

/// Lines, and characters of each, that are shown of a guest that failed.
const CONSOLE_LINES: usize = 8;
const LINE_MAX: usize = 160;

/// Returns the run of a workload; `None` if it was stopped.
pub fn workload_run(ended: &RunResult) -> Result<Option<WorkloadRun>, WorkloadError> {
    let failure = match ended.how {
        End::PoweredOff => None,
        End::Stopped => return Ok(None),
        End::Crashed(_) => Some("the guest's kernel crashed under the workload"),
        End::TimedOut => Some("the workload did not end in time: the machine is too busy"),
        End::UsedUp => {
            Some("the workload used up its processor time (`workload` in `[limits]` is its limit)")
        }
        End::Deadlocked => Some("the workload waits for something that cannot happen"),
    };
    if let Some(message) = failure {
        return Err(WorkloadError::new(message, ended));
    }
    let [begin, end] =
        [BEGIN, END].map(|mark| ended.lines.iter().position(|line| line.text.starts_with(mark)));
    let (Some(begin), Some(end)) = (begin, end) else {
        let output = initramfs::results(&ended.results).map(|(output, _)| output);
        let last = output.and_then(|output| output.lines().last()).unwrap_or("the guest ended");
        return Err(WorkloadError::new(format!("the workload was not begun: {last}"), ended));
    };
    let code = ended.lines[end].text.trim_start_matches(END).trim();
    if code != "0" {
        return Err(WorkloadError::new(format!("the workload ended with exit code {code}"), ended));
    }
    let window = (ended.lines[begin].at, ended.lines[end].at);
    // Printed after the workload, so that printing them is no part of it.
    let calls = ended.lines[end + 1..].iter().filter_map(|line| call(&line.text)).collect();
    Ok(Some(WorkloadRun { window, lines: ended.lines[begin + 1..end].to_vec(), calls }))
}

/// Reads a line of `strace -f -ttt`: process, seconds since 1970, call.
fn call(line: &str) -> Option<Line> {
    let (_, rest) = line.trim_start().split_once(' ')?;
    let (time, text) = rest.trim_start().split_once(' ')?;
    let (seconds, micros) = time.split_once('.')?;
    let micros: u64 = micros.parse().ok().filter(|micros| *micros < 1_000_000)?;
    let since_1970 = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)? + micros * 1000;
    // The guest's clock starts at START_NS, and its virtual time at 0.
    let at = Time::from_ns(since_1970.checked_sub(START_NS)?);
    Some(Line { at, text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(how: End, lines: &[(u64, &str)]) -> RunResult {
        let lines =
            lines.iter().map(|(at, text)| Line { at: Time::from_ns(*at), text: (*text).into() });
        let lines: Vec<Line> = lines.collect();
        let results: String = lines.iter().flat_map(|line| [&line.text, "\n"]).collect();
        RunResult { console: "the console".into(), results, lines, ..RunResult::silent(how) }
    }

    #[test]
    fn promises_are_what_is_printed_between_the_marks() {
        let lines =
            [(1, "drivelab-begin"), (3, BEGIN), (4, "1"), (6, "2"), (7, "drivelab-workload-end 0")];
        let found = workload_run(&ended(End::PoweredOff, &lines)).unwrap().unwrap();
        assert_eq!(found.window, (Time::from_ns(3), Time::from_ns(7)));
        let texts: Vec<_> =
            found.lines.iter().map(|line| (line.at.ns(), line.text.as_str())).collect();
        assert_eq!(texts, [(4, "1"), (6, "2")]);
        assert_eq!(workload_run(&ended(End::Stopped, &[])).unwrap(), None);
    }

    #[test]
    fn system_calls_have_the_guests_time() {
        let lines = [
            (3, BEGIN),
            (7, "drivelab-workload-end 0"),
            (8, "61    1735689603.000012 fsync(3) = 0"),
            (8, "61 1735689603.5 +++ exited with 0 +++"),
            (8, "drivelab-end 0"),
        ];
        let calls = workload_run(&ended(End::PoweredOff, &lines)).unwrap().unwrap().calls;
        assert_eq!((calls[0].at.ns(), calls[0].text.as_str()), (3_000_012_000, "fsync(3) = 0"));
        assert_eq!(calls.len(), 2);
    }

    #[test]
    fn a_failed_command_is_shown_with_its_own_output() {
        let own = "python3.11: error while loading shared libraries: libsqlite3.so.0";
        let boot = "Core dump limits :\n[    0.000000] Linux version 6.12\n\
                    [    0.280000] Run /init as init process\n[    0.3] EXT4-fs (sda): mounted\n";
        let end = "[   12.310000] sd 0:0:0:0: device offline error, dev sda\n".repeat(9);
        let lines = [
            (1, "drivelab-begin"),
            (2, "`prepare` ended with exit code 127"),
            (3, "drivelab-end 103"),
        ];
        let check = |how, console: String, whose: &str, last: &str| {
            let failed = RunResult { console, ..ended(how, &lines) };
            let message = workload_run(&failed).unwrap_err().to_string();
            assert!(message.contains(whose) && message.ends_with(last), "{message}");
        };
        let whose = "exit code 127; its output ends with:\n  python3.11";
        check(End::PoweredOff, format!("{boot}{own}\n{end}"), whose, own);
        let line = end.lines().next().unwrap();
        check(End::PoweredOff, format!("{boot}{end}"), "the guest's console ends with", line);
        let crashed = End::Crashed(std::os::unix::process::ExitStatusExt::from_raw(6));
        check(crashed, format!("{boot}{own}\n{end}"), "the guest's console ends with", line);
    }

    #[test]
    fn a_workload_that_failed_is_refused() {
        let check = |how, lines: &[(u64, &str)], part: &str| {
            let message = workload_run(&ended(how, lines)).unwrap_err().to_string();
            assert!(message.contains(part) && message.ends_with("the console"), "{message}");
        };
        check(End::PoweredOff, &[(1, BEGIN), (2, "drivelab-workload-end 7")], "exit code 7");
        check(End::TimedOut, &[(1, BEGIN)], "did not end in time");
        check(End::UsedUp, &[(1, BEGIN)], "used up its processor time");
        let lines = [(1, "drivelab-begin"), (2, "not made"), (3, "drivelab-end 101")];
        check(End::PoweredOff, &lines, "not begun: not made");
    }
}
