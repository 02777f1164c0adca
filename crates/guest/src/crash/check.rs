//! The result of the check in a guest that booted after a cut.

use drivelab_core::crash::Finding;

use super::scene::{DAMAGED, FAILED, NOT_MOUNTED};
use crate::boot::{End, RunResult};
use crate::initramfs;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    /// The finding about the promises.
    pub finding: Finding,
    /// The reason in a line; empty if everything is whole.
    pub reason: String,
}

/// The outcome of a guest that checked a cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckOutcome {
    /// The check found this.
    Found(CheckResult),
    /// The check did not end in real time, and had not used up its processor time: the machine is
    /// too busy.
    TooSlow,
    /// The guest was stopped.
    Stopped,
}

/// The reason for a check that used up its limit of processor time. It is a finding, since the
/// check without a cut did not.
const USED_UP: &str =
    "the check used up its processor time (`check` in `[limits]`): it does not end";

/// Longest reason, in characters.
const REASON_MAX: usize = 300;

/// Returns the outcome of a guest.
pub fn checked(ended: &RunResult) -> CheckOutcome {
    match ended.how {
        End::Stopped => CheckOutcome::Stopped,
        End::TimedOut => CheckOutcome::TooSlow,
        End::PoweredOff | End::Crashed(_) | End::Deadlocked | End::UsedUp => {
            CheckOutcome::Found(found(ended))
        }
    }
}

fn corrupt(reason: impl Into<String>) -> CheckResult {
    CheckResult { finding: Finding::Corrupt, reason: reason.into() }
}

/// Returns the last line that a check printed, as its reason.
fn last_line(output: &str) -> String {
    let last = output.lines().rev().map(str::trim).find(|line| !line.is_empty());
    last.unwrap_or_default().chars().take(REASON_MAX).collect()
}

fn found(ended: &RunResult) -> CheckResult {
    // A guest that crashed after its check still has a result: the check's own exit code counts.
    let printed = initramfs::results(&ended.results);
    let (output, code) = match (ended.how, printed) {
        (End::Deadlocked, _) => {
            return corrupt("the check waits for something that cannot happen");
        }
        (End::UsedUp, _) => return corrupt(USED_UP),
        (End::Crashed(_), None) => return corrupt(panic(&ended.console)),
        (_, Some(printed)) => printed,
        (_, None) => return corrupt("the guest ended before its check"),
    };
    match code {
        0 => CheckResult { finding: finding(code), reason: String::new() },
        1 => CheckResult { finding: finding(code), reason: last_line(output) },
        // mount(8) says only "Invalid argument"; the kernel's log has the cause.
        NOT_MOUNTED => corrupt(with_kernel(last_line(output), &ended.console)),
        2 | DAMAGED | FAILED => corrupt(last_line(output)),
        code => corrupt(format!("the check ended with exit code {code}")),
    }
}

/// Returns the finding that the exit code of a check stands for.
pub(super) fn finding(code: u8) -> Finding {
    match code {
        0 => Finding::Whole,
        1 => Finding::Lost,
        _ => Finding::Corrupt,
    }
}

/// Returns the message of a kernel panic.
fn panic(console: &str) -> String {
    let line = console.lines().find(|line| line.contains("Kernel panic") || line.contains("BUG"));
    let line = line.map_or("it printed nothing about it", without_time);
    format!("the kernel crashed: {line}").chars().take(REASON_MAX).collect()
}

/// Adds the kernel's last message about the file system to the reason.
fn with_kernel(reason: String, console: &str) -> String {
    let mut newest_first = console.lines().rev();
    match newest_first.find(|line| line.contains("EXT4-fs") || line.contains("XFS")) {
        Some(line) => {
            format!("{reason}: {}", without_time(line)).chars().take(REASON_MAX).collect()
        }
        None => reason,
    }
}

/// Returns a line of the kernel without its time stamp.
fn without_time(line: &str) -> &str {
    line.split_once("] ").map_or(line, |(_, rest)| rest).trim()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::*;

    fn ended(how: End, results: &str, console: &str) -> RunResult {
        RunResult { console: console.into(), results: results.into(), ..RunResult::silent(how) }
    }

    fn looked(how: End, code: Option<u8>, console: &str) -> CheckOutcome {
        let end = code.map_or(String::new(), |code| format!("drivelab-end {code}\n"));
        let results = format!("drivelab-begin\nnoise\nthe word\n\n{end}");
        checked(&ended(how, &results, console))
    }

    fn check(how: End, code: Option<u8>, console: &str, (finding, reason): (Finding, &str)) {
        let expected = CheckResult { finding, reason: reason.into() };
        assert_eq!(looked(how, code, console), CheckOutcome::Found(expected));
    }

    #[test]
    fn exit_codes_are_findings_and_the_last_line_is_the_reason() {
        let off = End::PoweredOff;
        check(off, Some(0), "", (Finding::Whole, ""));
        check(off, Some(1), "", (Finding::Lost, "the word"));
        check(off, Some(2), "", (Finding::Corrupt, "the word"));
        check(off, Some(DAMAGED), "", (Finding::Corrupt, "the word"));
        check(off, Some(FAILED), "", (Finding::Corrupt, "the word"));
        check(off, Some(7), "", (Finding::Corrupt, "the check ended with exit code 7"));
        let console = "[    0.2] EXT4-fs (sda): bad superblock\n[ 1.0] reboot: System halted\n";
        let reason = "the word: EXT4-fs (sda): bad superblock";
        check(off, Some(NOT_MOUNTED), console, (Finding::Corrupt, reason));
    }

    #[test]
    fn a_guest_that_does_not_come_up_is_corrupt() {
        let crashed = End::Crashed(ExitStatus::from_raw(6));
        let console = "[    1.0] EXT4-fs error\n[    1.1] Kernel panic - not syncing: Oops\n";
        let reason = "the kernel crashed: Kernel panic - not syncing: Oops";
        check(crashed, None, console, (Finding::Corrupt, reason));
        let reason = "the check waits for something that cannot happen";
        check(End::Deadlocked, None, "", (Finding::Corrupt, reason));
        check(End::UsedUp, None, "", (Finding::Corrupt, USED_UP));
        let reason = "the guest ended before its check";
        check(End::PoweredOff, None, "", (Finding::Corrupt, reason));
    }

    #[test]
    fn a_guest_that_was_stopped_or_too_slow_says_nothing_of_the_promises() {
        assert_eq!(looked(End::TimedOut, None, ""), CheckOutcome::TooSlow);
        assert_eq!(looked(End::Stopped, Some(2), ""), CheckOutcome::Stopped);
    }
}
