//! Strips the prefix from one line of a kernel log, whichever program printed it.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Deserialize;

use super::super::fault::{is_program, monitor_start};

/// The length of the name or the address of a machine.
const NODE_BYTES_MAX: usize = 64;

/// The beginning of the name of the kernel and of its facility.
static KERN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("kern"));

/// The message of a line.
///
/// Supports `dmesg` (with or without `[ 1.234567]`, `<6>`, the dates of `-T`, `-e`, `-H` and `-d`,
/// ISO 8601, `-x` facility and level), records of `/dev/kmsg` (`6,339,5140900,-;...`), and syslog
/// or `journalctl` lines (`... host kernel: ...`).
pub(super) fn message(line: &str) -> &str {
    let line = line.trim_end();
    let text = line.trim_start();
    if let Some(start) = monitor_start(text.as_bytes(), is_dated(text.as_bytes())) {
        return &text[start..];
    }
    let line = after_iso(line.trim_start()).unwrap_or(line);
    // Most lines of `dmesg` have no name of a program, and one search shows that.
    if KERN.find(line.as_bytes()).is_none() {
        let line = after_kmsg(line).unwrap_or(line);
        return after_stamp(after_level(line.trim_start())).trim_start();
    }
    let line = after_kernel(line).unwrap_or(line);
    let line = after_kmsg(line).unwrap_or(line);
    let line = after_facility(line).unwrap_or(line);
    let line = after_talos(line).unwrap_or(line);
    let line = after_level(line.trim_start());
    let line = after_stamp(line).trim_start();
    // `kernel: : text`, of Red Hat's Linux 6.
    line.strip_prefix(": ").map_or(line, str::trim_start)
}

/// Returns whether a line of another program than the kernel begins with a date:
/// `Nov  4 06:18:51 `, `2026-11-26T15:50:09`.
pub(super) fn is_dated(line: &[u8]) -> bool {
    let bytes = line.trim_ascii_start();
    let iso = bytes.len() > 19
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && [bytes[4], bytes[7], bytes[13]] == *b"--:";
    let month = bytes.len() > 15
        && bytes[0].is_ascii_uppercase()
        && bytes[1..3].iter().all(u8::is_ascii_lowercase)
        && [bytes[3], bytes[6], bytes[9], bytes[12]] == *b"  ::";
    iso || month
}

/// The time of a line, in seconds since the boot, if it has such a stamp: `[ 1.234567]`, or the
/// microseconds of a record of `/dev/kmsg`. Dates are useless without the date of the boot.
pub(super) fn seconds(line: &str) -> Option<u64> {
    if after_kmsg(line).is_some() {
        let microseconds: u64 = line.split(',').nth(2)?.parse().ok()?;
        return Some(microseconds / 1_000_000);
    }
    let (_, rest) = line.split_once('[')?;
    let stamp = rest.split_once(']')?.0.trim();
    // `9000.123456 <    0.000012>` has the time since the line before, too.
    let (whole, fraction) = stamp.split(' ').next()?.split_once('.')?;
    if digits(fraction) && digits(whole) { whole.parse().ok() } else { None }
}

/// The text after `2026-11-26T15:50:09,123456+00:00 `, unless a host follows (`journalctl`).
fn after_iso(line: &str) -> Option<&str> {
    if !line.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (stamp, rest) = line.split_once(' ')?;
    let bytes = stamp.as_bytes();
    let dated = bytes.len() >= 19 && bytes[4] == b'-' && bytes[7] == b'-' && bytes[10] == b'T';
    let right = dated && bytes[..4].iter().all(u8::is_ascii_digit) && stamp.contains([',', '.']);
    (right && !rest.contains(" kernel: ") && !rest.starts_with("kernel: ")).then_some(rest)
}

/// The line without what surrounds its text: quotation marks of a mail, colours, a byte order mark.
pub(super) fn cleaned(line: &str) -> Cow<'_, str> {
    // A line of a page or a mail may stand between backticks.
    let mut line = line.trim_start_matches(['\u{feff}', '`']);
    while let Some(rest) = line.strip_prefix("> ").or_else(|| line.strip_prefix(">>")) {
        line = rest;
    }
    if !line.contains('\x1b') {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len());
    let mut parts = line.split('\x1b');
    text.push_str(parts.next().unwrap_or(""));
    for part in parts {
        // `ESC [ 33 m`: parameters, and a letter that ends them.
        let rest = part
            .strip_prefix('[')
            .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'));
        let mut rest = rest.unwrap_or(part).chars();
        rest.next();
        text.push_str(rest.as_str());
    }
    Cow::Owned(text)
}

/// A record of `journalctl -o json`: the message, and the time since the boot.
pub(super) fn record(line: &str) -> Option<(String, Option<u64>)> {
    if !line.starts_with('{') {
        return None;
    }
    let record: Record = serde_json::from_str(line).ok()?;
    // Other JSON than the journal's.
    record.transport.as_ref().or(record.identifier.as_ref())?;
    let mut sources = [&record.transport, &record.identifier].into_iter().flatten();
    let program = record.identifier.as_deref().filter(|name| is_program(name));
    if program.is_none() && !sources.all(|source| source == "kernel") {
        return Some((String::new(), None));
    }
    let at = record.monotonic.and_then(|microseconds| microseconds.parse::<u64>().ok());
    let message = record.message.map(Message::text).unwrap_or_default();
    let message = program.map(|name| format!("{name}: {message}")).unwrap_or(message);
    Some((message, at.map(|microseconds| microseconds / 1_000_000)))
}

/// The fields of the journal that are read.
#[derive(Debug, Deserialize)]
struct Record {
    #[serde(rename = "MESSAGE")]
    message: Option<Message>,
    #[serde(rename = "_TRANSPORT")]
    transport: Option<String>,
    #[serde(rename = "SYSLOG_IDENTIFIER")]
    identifier: Option<String>,
    #[serde(rename = "__MONOTONIC_TIMESTAMP")]
    monotonic: Option<String>,
}

/// The text of a record; the journal writes one that is not UTF-8, or has control characters, as
/// bytes.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Message {
    Text(String),
    Bytes(Vec<u8>),
}

impl Message {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}

/// The text after `kernel: `, if the text before it looks like a date and a host.
fn after_kernel(line: &str) -> Option<&str> {
    if let Some(after) = line.trim_start().strip_prefix("kernel: ") {
        return Some(after);
    }
    let (before, after) = line
        .split_once(" kernel: ")
        .or_else(|| line.split_once(" [kernel] "))
        // The problem detector of Kubernetes.
        .or_else(|| line.split_once(" kernel-monitor "))
        .or_else(|| line.split_once(" kernel:").filter(|(before, _)| is_of_installer(before)))?;
    let words = before.split_whitespace().count();
    let dated = before.chars().any(|c| c.is_ascii_digit()) && (1..=6).contains(&words);
    dated.then_some(after.trim_start())
}

/// Returns whether it is `20:50:56,976 INFO`, as an installer of Red Hat writes.
fn is_of_installer(before: &str) -> bool {
    let Some((time, level)) = before.split_once(' ') else { return false };
    time.len() == 12
        && time.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b','))
        && !level.is_empty()
        && level.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// The text after `level,sequence,microseconds,flags;`.
fn after_kmsg(line: &str) -> Option<&str> {
    if !line.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (before, after) = line.split_once(';')?;
    let mut fields = before.split(',');
    let numbers = fields.by_ref().take(3).filter(|field| digits(field)).count();
    (numbers == 3 && fields.next().is_some()).then_some(after)
}

/// The text after `kern  :info  : `.
fn after_facility(line: &str) -> Option<&str> {
    let (facility, rest) = line.split_once(':')?;
    let (level, rest) = rest.split_once(": ")?;
    let are_words = [facility, level].iter().all(|text| {
        let text = text.trim_end();
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase())
    });
    (facility.starts_with("kern") && are_words).then_some(rest)
}

/// The text after `192.0.2.7: kern: info: [2024-04-16T18:19:30.856Z]: `, as Talos Linux prints it.
fn after_talos(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("kern:")?;
    let (level, rest) = rest.split_once(": [")?;
    let level = level.trim_start();
    let (stamp, text) = rest.split_once("]: ")?;
    // The name of the machine stands first where several were asked.
    let is_node = before.is_empty() || before.ends_with(": ") && !before.trim_end().contains(' ');
    let is_level = !level.is_empty() && level.bytes().all(|byte| byte.is_ascii_lowercase());
    (is_node && is_level && is_dated(stamp.as_bytes())).then_some(text)
}

/// Returns whether it is the beginning of such a line, up to the name of the kernel.
pub(super) fn is_of_talos(line: &[u8]) -> bool {
    let head = &line[..line.len().min(NODE_BYTES_MAX)];
    head.windows(7).any(|part| part == b": kern:")
}

/// The text after `<6>`.
fn after_level(line: &str) -> &str {
    let level = line.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    level.filter(|(level, _)| digits(level)).map_or(line, |(_, rest)| rest.trim_start())
}

/// The text after `[    1.234567]`, `[Mon Sep 13 12:00:00 2009]`, and the thread or processor that
/// newer kernels add, `[    T1]`.
fn after_stamp(mut line: &str) -> &str {
    // The time, and the thread or processor.
    for _ in 0..2 {
        let Some((stamp, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        else {
            break;
        };
        let stamp = stamp.trim();
        // A locale may write a decimal comma.
        let time = stamp.starts_with(|c: char| c.is_ascii_digit() || c == '+')
            && stamp.bytes().all(|byte| {
                byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'+' | b' ' | b'<' | b'>')
            });
        if !(time || is_other_stamp(stamp)) {
            break;
        }
        line = rest.trim_start();
        // Samsung's kernels write the context of an interrupt as a letter before the task.
        if let Some((first, task)) = line.split_at_checked(1)
            && first.bytes().all(|byte| byte.is_ascii_uppercase())
            && task.starts_with('[')
        {
            line = task;
        }
    }
    after_core(line)
}

/// Returns whether it is a date, a thread or a task.
fn is_other_stamp(stamp: &str) -> bool {
    let date = (2..=3).contains(&stamp.matches(':').count()) && stamp.len() >= 19;
    let thread = stamp.starts_with(['T', 'C']) && digits(&stamp[1..]);
    // `Nov26 15:50`, of `dmesg -e`.
    let short = stamp.len() == 11 && stamp.as_bytes()[8] == b':' && stamp.as_bytes()[5] == b' ';
    date || short || thread || is_task(stamp)
}

/// Returns whether it is `3:   kworker/3:1:  88`, the processor, name and number of a task, which
/// the kernels of some phones add.
fn is_task(stamp: &str) -> bool {
    let Some((processor, rest)) = stamp.split_once(':') else { return false };
    let Some((name, number)) = rest.rsplit_once(':') else { return false };
    digits(processor) && digits(number.trim()) && rest.starts_with(' ') && !name.trim().is_empty()
}

/// The text after `c0   1549 `, the processor and the task of other phones.
fn after_core(line: &str) -> &str {
    let task = line.strip_prefix('c').and_then(|rest| rest.split_once(' '));
    let Some((processor, rest)) = task.filter(|(processor, _)| digits(processor)) else {
        return line;
    };
    let rest = rest.trim_start().split_once(' ').filter(|(number, _)| digits(number));
    debug_assert!(processor.len() < line.len(), "digits of the line");
    rest.map_or(line, |(_, text)| text)
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_seconds_since_the_boot() {
        let check = |line: &str, expected| assert_eq!(seconds(line), expected, "{line}");
        check("[    1.234567] ata1: text", Some(1));
        check("<6>[ 5140.234567][    T1] ata1: text", Some(5140));
        check("Sep 13 12:00:00 tower kernel: [   71.234567] ata1: text", Some(71));
        check("6,339,5140900,-;ata1: text", Some(5));
        check("[Mon Sep 13 12:00:00 2009] ata1: text", None);
        check("sd 0:0:0:0: [sda] Write cache: enabled", None);
        check("[ 9000.123456 <    0.000012>] ata1: text", Some(9000));
        check("[  +0.000012] ata1: text", None);
        check("[1.] a", None);
        check("", None);
    }

    #[test]
    fn what_stands_before_the_message_is_taken_off() {
        let check = |line: &str, expected: &str| assert_eq!(message(line), expected, "{line}");
        let bare = "ata1: SATA link up 3.0 Gbps (SStatus 123 SControl 300)";
        check(bare, bare);
        check(&format!("[    1.234567] {bare}"), bare);
        check(&format!("<6>[    1.234567] {bare}\r"), bare);
        check(&format!("[    1.234567][    T1] {bare}"), bare);
        check(&format!("[Mon Sep 13 12:00:00 2009] {bare}"), bare);
        check(&format!("[2009-09-13T12:00:00,123456+02:00] {bare}"), bare);
        check(&format!("kern  :info  : [    1.234567] {bare}"), bare);
        check(&format!("6,339,5140900,-;{bare}"), bare);
        check(&format!("6,339,5140900,-,caller=T1;{bare}"), bare);
        check(&format!("Sep 13 12:00:00 tower kernel: [    1.234567] {bare}"), bare);
        check(&format!("Sep 13 12:00:00 tower kernel: {bare}"), bare);
        check(&format!("2009-09-13T12:00:00+0200 tower kernel: {bare}"), bare);
        check(&format!("[    3.1] tower kernel: {bare}"), bare);
        check(&format!("[  +0.000012] {bare}"), bare);
        check(&format!("[ 9000.123456 <    0.000012>] {bare}"), bare);
        check(&format!("[Nov26 15:50] {bare}"), bare);
        check(&format!("2026-11-26T15:50:09,123456+00:00 {bare}"), bare);
        check(&format!("2026-11-26T15:50:09+11:00 kernel: {bare}"), bare);
        check(&format!("[Sun Dec  7 10:12:18 2025] [    T772] {bare}"), bare);
        check(&format!("   kernel: {bare}"), bare);
        check(&format!("Sep 19 07:00:15 [kernel] {bare}"), bare);
        check(&format!("[ +18,993611] {bare}"), bare);
        check(&format!("[ 2359.303891]  [5:    kworker/3:1:14765] {bare}"), bare);
        check(&format!("<2>[    0.629900] I[7:      swapper/0:    1] {bare}"), bare);
        check(&format!("<5>[    0.000000] c0      0 {bare}"), bare);
        check(&format!("20:50:57,008 NOTICE kernel:{bare}"), bare);
        check(&format!("192.0.2.7: kern:    info: [2024-04-16T18:19:30.85674118Z]: {bare}"), bare);
        check(&format!("kern: warning: [2024-04-16T18:19:30.85674118Z]: {bare}"), bare);
        check(&format!("  Warning  Ext4Error  2m8s (x2 over 2m8s)  kernel-monitor  {bare}"), bare);
        check("c0 is no core", "c0 is no core");
        check("[sda: sda1: text] 5", "[sda: sda1: text] 5");
        check("", "");
        check("[", "[");
        check("[sda] Write cache: enabled", "[sda] Write cache: enabled");
        check("a;b", "a;b");
    }

    #[test]
    fn colours_quotation_marks_and_records_are_taken_off() {
        let check = |line, expected| assert_eq!(cleaned(line), expected);
        check("\x1b[32m[ 9.1] \x1b[0m\x1b[33mata1: text\x1b[0m", "[ 9.1] ata1: text");
        check("> > [ 9.1] ata1: text", "[ 9.1] ata1: text");
        check("\u{feff}ata1: text", "ata1: text");
        check("\x1b", "");
        check("\x1b[", "");
        let json =
            r#"{"MESSAGE":"ata1: text","_TRANSPORT":"kernel","__MONOTONIC_TIMESTAMP":"71234567"}"#;
        assert_eq!(record(json), Some(("ata1: text".into(), Some(71))));
        let bytes = r#"{"MESSAGE":[97,116,97,49,58,32,255],"_TRANSPORT":"kernel"}"#;
        assert_eq!(record(bytes), Some(("ata1: \u{fffd}".into(), None)));
        let program = r#"{"MESSAGE":"text","SYSLOG_IDENTIFIER":"smartd","_TRANSPORT":"syslog"}"#;
        assert_eq!(record(program), Some(("smartd: text".into(), None)));
        let other = r#"{"MESSAGE":"ata1: text","SYSLOG_IDENTIFIER":"sshd"}"#;
        assert_eq!(record(other), Some((String::new(), None)));
        assert_eq!(record("{ not json"), None);
    }
}
