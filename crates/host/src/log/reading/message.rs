//! Puts the lines of a message together: libata reports a command in two, and mail programs break
//! long ones.

use super::super::KernelLog;
use super::super::fault::without_serials;
use super::lines::LINE_BYTES_MAX;
use super::repeats::Repeats;
use super::{joined, line, quick};

/// The length from which a line may have been broken by a mail program.
const BROKEN_LENGTH_MIN: usize = 50;
/// Number of lines into which a message may have been broken.
const BROKEN_LINES_MAX: usize = 3;

/// A log, and the line that may be continued by the next one.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) log: KernelLog,
    pub(super) line: String,
    /// True if the line began with a time or a host.
    pub(super) stamped: bool,
    /// True if a rule may concern it.
    pub(super) matters: bool,
    /// The start of its message.
    pub(super) start: usize,
    /// The length of its last part.
    pub(super) length: usize,
    pub(super) parts: usize,
    /// The messages that are counted without being read again.
    pub(super) known: Repeats,
    /// The one that the line repeats.
    pub(super) repeat: Option<Repeated>,
}

/// A line that is not read in full.
pub(super) struct Repeated {
    /// The message that it repeats; `None` for libata's reports.
    pub(super) slot: Option<(usize, usize)>,
    /// Its time, if it has the kernel's stamp.
    pub(super) seconds: Option<u64>,
}

/// The part of a line that is read.
fn beginning(line: &str) -> &str {
    // A character is never divided: it has at most four bytes.
    let ends = (0..4).map(|back| LINE_BYTES_MAX - back);
    ends.into_iter().find_map(|end| line.get(..end)).unwrap_or(line)
}

impl Reading {
    /// Begins a line, whose message begins at `start`.
    pub(super) fn begin(&mut self, line: &str, start: usize, stamped: bool) {
        debug_assert!(self.line.is_empty() && self.repeat.is_none(), "the one before was read");
        self.line.push_str(line);
        self.start = start;
        self.stamped = stamped;
        self.log.stamped |= stamped;
        self.log.looked.0 += u64::from(!line.is_empty());
        self.log.looked.1 += u64::from(stamped);
        self.parts = 1;
    }

    /// Reads a line in any case.
    pub(super) fn line(&mut self, line: &str) {
        self.read(line, quick::may_matter(line.as_bytes()));
    }

    pub(super) fn read(&mut self, line: &str, may_matter: bool) {
        let line = line::cleaned(beginning(line));
        if let Some((message, at)) = line::record(&line) {
            self.flush();
            self.log.at_s = at;
            self.log.stamped = true;
            for message in message.lines() {
                self.log.line(&without_serials(message.trim()), false);
            }
            self.log.effect = None;
            return;
        }
        if !joined::is_joined(line.as_bytes()) {
            return self.part(&line, may_matter);
        }
        for part in joined::parts(&line) {
            self.part(part, may_matter);
        }
    }

    fn part(&mut self, line: &str, may_matter: bool) {
        let text = line.trim();
        let message = line::message(text);
        let stamped = message.len() < text.len();
        if !stamped && self.continues(text) {
            self.continue_with(text);
        } else {
            self.flush();
            let line = line.trim_end();
            self.begin(line, line.len() - message.len(), stamped);
            self.matters = may_matter;
        }
        self.length = text.len();
    }

    pub(super) fn continue_with(&mut self, text: &str) {
        self.line.push(' ');
        self.line.push_str(text);
        self.parts += 1;
        // As a whole it says something else.
        self.repeat.take_if(|it| it.slot.is_some());
    }

    /// Returns whether a line without a stamp continues the one before: libata's reports have a
    /// second line, and mail programs break long ones.
    pub(super) fn continues(&self, text: &str) -> bool {
        let broken = self.length >= BROKEN_LENGTH_MIN && self.parts < BROKEN_LINES_MAX;
        let second = text.starts_with("res ") && self.line.contains(": cmd ");
        !text.is_empty()
            && !text.starts_with("Linux version ")
            && !line::is_dated(text.as_bytes())
            && self.stamped
            && (second || broken)
            && self.matters
            && self.line.len() + text.len() < LINE_BYTES_MAX
    }

    pub(super) fn flush(&mut self) {
        debug_assert!(self.line.len() <= 2 * LINE_BYTES_MAX, "few lines make a message");
        let repeated = self.repeat.take();
        if repeated.is_some_and(|repeated| self.again(&repeated)) {
            self.line.clear();
        } else if !self.line.is_empty() {
            self.log.at_s = line::seconds(&self.line);
            let message = without_serials(&self.line[self.start..]);
            self.log.line(&message, self.line.starts_with([' ', '\t']));
            self.keep();
            self.line.clear();
        }
    }

    pub(super) fn finish(mut self) -> KernelLog {
        self.flush();
        self.log.add_unresolved();
        self.log.pair_excerpt();
        let before = self.log.before.take();
        match before.filter(|_| !self.log.names_disks()) {
            Some(before) => {
                let KernelLog { release, lines, stamped, looked, .. } = self.log;
                KernelLog { lines, stamped, looked, ..Self::released(*before, release) }
            }
            None => self.log,
        }
    }

    /// The log that ended before the line with the kernel's release.
    fn released(log: KernelLog, release: Option<String>) -> KernelLog {
        KernelLog { release: log.release.clone().or(release), ..log }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Class;

    const FAILED: &str = "[ 9.1] critical medium error, dev sda, sector 2048";

    /// Number of unreadable sectors of `sda`.
    fn medium_errors(text: &str) -> u64 {
        let log = KernelLog::parse(text);
        log.faults.get("sda").and_then(|it| it.of(Class::Medium)).map_or(0, |lines| lines.count)
    }

    #[test]
    fn lines_that_a_mail_program_broke_are_joined() {
        let text = "Nov 04 06:18:51 charon kernel: blk_update_request: critical medium\n\
                    error, dev sda,\nsector 3907667964 op 0x9:(WRITE_ZEROES)\n";
        assert_eq!(medium_errors(text), 1);
    }

    #[test]
    fn lines_of_other_programs_do_not_continue_those_of_the_kernel() {
        let failed =
            "Nov 04 06:18:51 host kernel: critical medium error, dev sda, sector 8 op 0x0:(READ)";
        let text = format!("{failed}\nNov 04 06:18:52 host sshd[812]: text\n");
        let log = KernelLog::parse(&text);
        let first = &log.faults["sda"].of(Class::Medium).unwrap().first[0];
        assert!(first.ends_with("(READ)"), "{first}");
    }

    #[test]
    fn a_release_after_the_log_is_no_boot() {
        let text = format!("{FAILED}\nLinux version 4.10.0-21-generic\n");
        assert_eq!(medium_errors(&text), 1);
        let log = KernelLog::parse(&text);
        assert_eq!(log.release.as_deref(), Some("4.10.0-21-generic"));
        assert_eq!(medium_errors(&format!("{text}ata1: SATA link down (SStatus 0)\n")), 0);
    }
}
