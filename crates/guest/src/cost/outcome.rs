//! The result of a guest with a command.

use drivelab_core::{Refusal, Time};
use thiserror::Error;

use super::calls::Calls;
use super::extents::{Extent, extents};
use super::scene::{CALLS, END, EXTENTS, LEFT, SETTLED, START};
use crate::boot::{End, Line, RunResult};
use crate::crash::with_output;
use crate::initramfs;

/// The times at which the phases of a command end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phases {
    /// The command begins.
    pub start: Time,
    /// It has ended.
    pub end: Time,
    /// The data that it had left in memory are written.
    pub left: Time,
    /// The drive has written what it held.
    pub settled: Time,
}

/// A command that was carried out.
#[derive(Debug, Clone)]
pub struct CostRun {
    /// Its phases.
    pub phases: Phases,
    /// Its system calls, if they were recorded.
    pub calls: Calls,
    /// True if the first calls are missing because there were too many.
    pub is_cut: bool,
    /// The extents of its files at the end, if its calls were recorded.
    pub extents: Vec<Extent>,
}

/// The reason why a command has no bill.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct CostRunError {
    message: String,
    hint: Option<&'static str>,
}

impl CostRunError {
    fn new(message: String) -> Self {
        Self { message, hint: None }
    }
}

impl From<CostRunError> for Refusal {
    fn from(CostRunError { message, hint }: CostRunError) -> Self {
        let refusal = Self::request(message);
        match hint {
            Some(hint) => refusal.hint(hint),
            None => refusal,
        }
    }
}

/// The exit code of a shell that does not find a program.
const NOT_FOUND: &str = "127";
const BY_NAME: &str = "a program of this machine is in the guest if `--programs` names it, and runs \
                       by its name: --programs ./save,sqlite3 -- save";

/// Returns the run of a command; `None` if it was stopped.
pub fn cost_run(ended: &RunResult) -> Result<Option<CostRun>, CostRunError> {
    let failure = match ended.how {
        End::PoweredOff => None,
        End::Stopped => return Ok(None),
        End::Crashed(_) => Some("the guest's kernel crashed under the command"),
        End::TimedOut => Some("the command did not end in time: the machine is too busy"),
        End::UsedUp => Some("the command used up its processor time (`--limit-processor`)"),
        End::Deadlocked => Some("the command waits for something that cannot happen"),
    };
    if let Some(message) = failure {
        return Err(CostRunError::new(with_output(message, ended)));
    }
    let marks = [START, END, LEFT, SETTLED];
    let lines = marks.map(|mark| ended.lines.iter().find(|line| line.text.starts_with(mark)));
    let [Some(start), Some(end), Some(left), Some(settled)] = lines else {
        let output = initramfs::results(&ended.results).map(|(output, _)| output);
        let last = output.and_then(|output| output.lines().last());
        let last = last.unwrap_or("the file system was not made or mounted");
        let message = format!("the command was not begun: {last}");
        return Err(CostRunError::new(with_output(message, ended)));
    };
    let code = end.text.trim_start_matches(END).trim();
    if code != "0" {
        let message = with_output(format!("the command ended with exit code {code}"), ended);
        return Err(CostRunError { message, hint: (code == NOT_FOUND).then_some(BY_NAME) });
    }
    let phases = Phases { start: start.at, end: end.at, left: left.at, settled: settled.at };
    debug_assert!(start.at <= end.at && end.at <= left.at, "the marks are printed in order");
    let (calls, is_cut) = recorded(&ended.lines);
    let after = ended.lines.iter().skip_while(|line| line.text != EXTENTS);
    let found = extents(after.map(|line| line.text.as_str()));
    Ok(Some(CostRun { phases, calls, is_cut, extents: found }))
}

/// Returns the recorded calls, and whether their beginning is missing.
fn recorded(lines: &[Line]) -> (Calls, bool) {
    let mut rest = lines.iter().skip_while(|line| !line.text.starts_with(CALLS));
    let Some(mark) = rest.next() else { return (Calls::default(), false) };
    let all: u64 = mark.text.trim_start_matches(CALLS).trim().parse().unwrap_or(u64::MAX);
    let shown: Vec<&str> =
        rest.map(|line| line.text.as_str()).take_while(|text| *text != EXTENTS).collect();
    // A newline for each line, of which the last one is not of the calls.
    let bytes: usize = shown.iter().map(|line| line.len() + 1).sum();
    let is_cut = (bytes as u64) < all;
    // A line that was cut in two is not of another dialect.
    let shown = if is_cut { shown.get(1..).unwrap_or_default() } else { &shown };
    (Calls::parse(shown.iter().copied()), is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(how: End, lines: &[(u64, &str)]) -> RunResult {
        let results: String = lines.iter().flat_map(|(_, text)| [text, "\n"]).collect();
        RunResult {
            console: "no such table: t".into(),
            results: format!("drivelab-begin\n{results}drivelab-end 0\n"),
            lines: lines
                .iter()
                .map(|(at, text)| Line { at: Time::from_ns(*at), text: (*text).to_owned() })
                .collect(),
            ..RunResult::silent(how)
        }
    }

    const CALL: &str = "7<sh> 1735689600.000000012 fsync(3</mnt/a>) = 0 <0.000000003>";
    const LAST: &str = "   0:        0..       7:      26944..     26951:      8: last,eof";

    #[test]
    fn the_phases_the_calls_and_the_files_are_found() {
        let mark = format!("{CALLS} {}", CALL.len() + 1);
        let lines = [
            (10, START),
            (20, "drivelab-cost-end 0"),
            (30, LEFT),
            (40, SETTLED),
            (50, &mark),
            (50, CALL),
            (50, ""),
            (50, EXTENTS),
            (50, "File size of /mnt/a is 4096 (8 blocks of 512 bytes)"),
            (50, LAST),
        ];
        let run = cost_run(&ended(End::PoweredOff, &lines)).unwrap().unwrap();
        let [start, end, left, settled] = [10, 20, 30, 40].map(Time::from_ns);
        assert_eq!(run.phases, Phases { start, end, left, settled });
        assert_eq!((run.calls.calls.len(), run.extents.len(), run.is_cut), (1, 1, false));
        let longer = format!("{CALLS} 900000");
        let lines: Vec<_> =
            lines.iter().map(|it| if it.1 == mark { (50, longer.as_str()) } else { *it }).collect();
        let cut = cost_run(&ended(End::PoweredOff, &lines)).unwrap().unwrap();
        assert!(cut.is_cut && cut.calls.calls.is_empty());
    }

    #[test]
    fn a_command_that_failed_has_no_bill() {
        fn check(how: End, lines: &[(u64, &str)], part: &str) {
            let error = cost_run(&ended(how, lines)).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        let failed = [(1, START), (2, "drivelab-cost-end 7"), (3, LEFT), (4, SETTLED)];
        check(End::PoweredOff, &failed, "ended with exit code 7");
        check(End::PoweredOff, &failed, "no such table: t");
        check(End::PoweredOff, &[(1, "`prepare` ended with exit code 2")], "`prepare` ended");
        check(End::Deadlocked, &[], "cannot happen");
        let unknown = [(1, START), (2, "drivelab-cost-end 127"), (3, LEFT), (4, SETTLED)];
        let unknown = cost_run(&ended(End::PoweredOff, &unknown)).unwrap_err();
        assert!(unknown.hint.is_some_and(|hint| hint.contains("--programs")), "{unknown:?}");
        assert!(cost_run(&ended(End::Stopped, &[])).unwrap().is_none());
    }
}
