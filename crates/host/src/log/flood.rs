//! libata's reports in a log that is full of them: the same as in [`super::ata`], without looking
//! for rules that do not concern them.

use super::KernelLog;
use super::ata::{PORT_MAX, ReportLine, UNIT_MAX, serror_is_fault};
use super::messages::Class;

/// Results of commands, in the order of the table of messages.
const RESULTS: [(&str, Class); 6] = [
    ("media error)", Class::Medium),
    ("ATA bus error)", Class::Link),
    ("HSM violation)", Class::Link),
    ("timeout)", Class::Timeout),
    ("host bus error)", Class::Command),
    ("invalid argument)", Class::Command),
];

/// The effect of a line of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quick {
    /// It is a part of the report.
    Part(ReportLine),
    /// The drive is ready.
    Configured,
    /// Nothing.
    Nothing,
}

impl KernelLog {
    /// Reads a line of libata's reports; returns false if it is another one.
    pub(super) fn flood_line(&mut self, message: &str) -> bool {
        if message.starts_with("res ") {
            let (Some((number, unit)), Bracket::Result(class)) = (self.reporting, result(message))
            else {
                return false;
            };
            self.lines += 1;
            return self.ata_part((number, unit), ReportLine::Result(class), message);
        }
        let Some((number, unit, rest)) = prefix(message) else { return false };
        let Some(quick) = quick(rest).filter(|_| self.ports.contains_key(&number)) else {
            return false;
        };
        self.lines += 1;
        match quick {
            Quick::Part(part) => {
                self.ata_part((number, unit), part, message);
            }
            Quick::Configured => self.ready(number, unit),
            Quick::Nothing => {}
        }
        true
    }
}

/// Splits `ata2.01: text`, as the kernel itself writes it.
fn prefix(message: &str) -> Option<(u32, Option<u32>, &str)> {
    let (port, mut at) = number(message.as_bytes(), 3)?;
    let mut unit = None;
    if message.as_bytes().get(at) == Some(&b'.') {
        let (found, end) = number(message.as_bytes(), at + 1)?;
        (unit, at) = (Some(found), end);
    }
    let rest = message.get(at..)?.strip_prefix(": ")?;
    (port <= PORT_MAX && unit.is_none_or(|unit| unit <= UNIT_MAX)).then_some((port, unit, rest))
}

/// The number at a position, and its end.
fn number(text: &[u8], start: usize) -> Option<(u32, usize)> {
    let mut value = 0_u32;
    let mut at = start;
    while let Some(digit) = text.get(at).filter(|byte| byte.is_ascii_digit()) {
        value = value.checked_mul(10)?.checked_add(u32::from(digit - b'0'))?;
        at += 1;
    }
    (at > start).then_some((value, at))
}

fn quick(rest: &str) -> Option<Quick> {
    let part = match rest.as_bytes().first()? {
        b'c' if rest.starts_with("cmd ") => match result(rest) {
            Bracket::None => ReportLine::Command(None),
            Bracket::Result(class) => ReportLine::Command(Some(class)),
            Bracket::Other => return None,
        },
        b'c' if rest.starts_with("configured for ") => return Some(Quick::Configured),
        b'f' if rest.starts_with("failed command: ") => ReportLine::Failed,
        b'e' => match rest.strip_prefix("exception Emask ") {
            Some(exception) => ReportLine::Exception { is_fault: serror_is_fault(exception) },
            None => ReportLine::Error(error(rest.strip_prefix("error: {")?)),
        },
        b's' if rest.starts_with("status: { ") => return Some(Quick::Nothing),
        b'S' if rest.starts_with("SError: { ") => return Some(Quick::Nothing),
        b'h' | b's' if matches!(rest, "hard resetting link" | "soft resetting link") => {
            return Some(Quick::Nothing);
        }
        b'E' if rest == "EH complete" => return Some(Quick::Nothing),
        b'i' if rest.starts_with("irq_stat 0x") => match rest.split_once(", ") {
            Some((_, "interface fatal error")) => ReportLine::Result(Class::Link),
            None | Some((_, "connection status changed" | "PHY RDY changed")) => {
                return Some(Quick::Nothing);
            }
            Some(_) => return None,
        },
        _ => return None,
    };
    Some(Quick::Part(part))
}

/// The kind of error in ` UNC }`.
fn error(bits: &str) -> Class {
    if bits.contains("UNC") || bits.contains("IDNF") {
        Class::Medium
    } else if bits.contains("ICRC") {
        Class::Link
    } else {
        Class::Command
    }
}

/// The text in brackets.
enum Bracket {
    /// There are none.
    None,
    /// The result of a command.
    Result(Class),
    /// Another text, or several.
    Other,
}

fn result(text: &str) -> Bracket {
    let Some(at) = memchr::memchr(b'(', text.as_bytes()) else { return Bracket::None };
    let text = &text[at + 1..];
    let found = RESULTS.iter().find(|(words, _)| text.starts_with(words));
    match found {
        Some((words, class)) if !text[words.len()..].contains('(') => Bracket::Result(*class),
        _ => Bracket::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_by_the_table() {
        for rest in [
            "exception Emask 0x10 SAct 0x1 SErr 0x400100 action 0x6 frozen",
            "exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x0",
            "failed command: READ FPDMA QUEUED",
            "cmd 60/08:00:00:e1:59/00:00:a2:00:00/40 tag 0 ncq 4096 in",
            "cmd 60/08:00 tag 0 ncq 4096 in res 40/00:10 Emask 0x4 (timeout)",
            "cmd 60/08:00 tag 0 in res 41/40:00 Emask 0x409 (media error) <F>",
            "cmd 60/08:00 tag 0 in res 41/40:00 Emask 0x10 (ATA bus error)",
            "cmd 60/08:00 tag 0 in res 41/40:00 Emask 0x2 (HSM violation)",
            "cmd 60/08:00 tag 0 in res 41/40:00 Emask 0x20 (host bus error)",
            "cmd 60/08:00 tag 0 in res 41/40:00 Emask 0x40 (invalid argument)",
            "error: { UNC }",
            "error: { IDNF }",
            "error: { ICRC ABRT }",
            "error: { ABRT }",
            "irq_stat 0x08000000, interface fatal error",
        ] {
            assert_eq!(quick(rest), Some(Quick::Part(ReportLine::parse(rest))), "{rest}");
        }
        for rest in [
            "status: { DRDY ERR }",
            "SError: { UnrecovData BadCRC }",
            "hard resetting link",
            "soft resetting link",
            "EH complete",
            "irq_stat 0x40000008",
            "irq_stat 0x00400040, connection status changed",
        ] {
            assert_eq!(quick(rest), Some(Quick::Nothing), "{rest}");
            assert_eq!(ReportLine::parse(rest), ReportLine::Other, "{rest}");
        }
        for rest in ["cmd 60/08 (device error)", "SATA link up 6.0 Gbps", "irq_stat 0x1, x", ""] {
            assert_eq!(quick(rest), None, "{rest}");
        }
    }

    #[test]
    fn ports_and_units_are_numbers() {
        assert_eq!(prefix("ata2.01: x"), Some((2, Some(1), "x")));
        assert_eq!(prefix("ata2: x"), Some((2, None, "x")));
        for other in ["ata: x", "ata2.: x", "ata2.99: x", "ata99999: x", "ata2 (slot 1): x", "ata"]
        {
            assert_eq!(prefix(other), None, "{other}");
        }
    }
}
