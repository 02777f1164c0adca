//! The system calls of a command, as strace prints them.

use std::collections::BTreeMap;

use drivelab_core::{Span, Time};

use super::frame::{Frame, is_of_stack};
use crate::boot::START_NS;
use crate::mounted::MOUNTED;

/// The effect of a call on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallKind {
    /// It reads.
    Read,
    /// It writes into the page cache, or to the disk.
    Write,
    /// It waits until data are on the disk.
    Sync,
    /// It changes names, sizes or folders.
    Change,
    /// It maps a file for writing: what is written through the map is no call.
    Map,
    /// It hands requests to an `io_uring`, which are no calls.
    Ring,
    /// It opens, closes or looks.
    Other,
}

/// A call on a file of the file system, or one that concerns all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The name of the process.
    pub process: String,
    /// Times of its beginning and its end.
    pub window: (Time, Time),
    /// The name of the call.
    pub name: String,
    /// Its kind.
    pub kind: CallKind,
    /// The path below the mount point; `.` for all of the file system.
    pub path: String,
    /// The path that a rename takes away.
    pub from: Option<String>,
    /// Bytes that it read or wrote.
    pub bytes: u64,
    /// The offset in the file, if the call names one.
    pub offset: Option<u64>,
    /// The instructions that it came from, the innermost first; empty if they were not recorded.
    pub stack: Vec<Frame>,
}

/// The calls of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    /// In order of their beginning.
    pub calls: Vec<Call>,
    /// Lines that are no calls: 0 unless strace speaks another dialect.
    pub unknown: usize,
}

/// A call whose end is on another line.
#[derive(Debug)]
struct Begun<'a> {
    at: Time,
    name: &'a str,
    arguments: &'a str,
}

/// A line of strace.
struct Line<'a> {
    process: &'a str,
    thread: u64,
    at: Time,
    text: &'a str,
}

const READS: [&str; 7] =
    ["read", "pread64", "readv", "preadv", "preadv2", "getdents64", "readahead"];
const WRITES: [&str; 7] =
    ["write", "pwrite64", "writev", "pwritev", "pwritev2", "sendfile", "copy_file_range"];
const SYNCS: [&str; 6] = ["fsync", "fdatasync", "sync", "syncfs", "sync_file_range", "msync"];
const CHANGES: [&str; 9] =
    ["rename", "unlink", "mkdir", "rmdir", "link", "symlink", "truncate", "ftruncate", "fallocate"];

impl Calls {
    /// Reads the lines of `strace -f -y --decode-pids=comm`, with times in nanoseconds, and with
    /// `-k` or without.
    pub fn parse<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut reader = Reader::default();
        for line in lines {
            if is_of_stack(line) {
                reader.frame(line);
            } else {
                let before = reader.found.calls.len();
                reader.line(line);
                reader.is_kept = reader.found.calls.len() > before;
            }
        }
        let Reader { mut found, .. } = reader;
        // A call that was interrupted by others is complete only on a later line.
        found.calls.sort_by_key(|call| call.window.0);
        found
    }
}

#[derive(Debug, Default)]
struct Reader<'a> {
    found: Calls,
    /// True if the latest line is the end of a call that is kept.
    is_kept: bool,
    begun: BTreeMap<u64, Begun<'a>>,
    /// The working folder of each thread, as its calls have shown it.
    folders: BTreeMap<u64, String>,
}

impl<'a> Reader<'a> {
    /// Adds a frame to the call above it.
    fn frame(&mut self, line: &str) {
        let call = self.found.calls.last_mut().filter(|_| self.is_kept);
        if let Some((call, frame)) = call.zip(Frame::parse(line)) {
            call.stack.push(frame);
        }
    }

    fn line(&mut self, line: &'a str) {
        let Some(line) = Line::parse(line) else {
            self.found.unknown += usize::from(!line.trim().is_empty());
            return;
        };
        let Line { thread, at, text, .. } = line;
        // The end of a process, and signals.
        if text.starts_with("+++") || text.starts_with("---") {
            return;
        }
        if let Some(rest) = text.strip_prefix("<... ") {
            let begun = self.begun.remove(&thread);
            // The beginning may have been cut off.
            let (Some(begun), Some((_, rest))) = (begun, rest.split_once(" resumed>")) else {
                return;
            };
            return self.call(&line, &begun, rest);
        }
        let Some((name, rest)) = text.split_once('(') else {
            self.found.unknown += 1;
            return;
        };
        if let Some(arguments) = rest.strip_suffix(" <unfinished ...>") {
            self.begun.insert(thread, Begun { at, name, arguments });
        } else {
            self.call(&line, &Begun { at, name, arguments: rest }, rest);
        }
    }

    /// Adds a call whose result is at the end of `rest`.
    fn call(&mut self, line: &Line<'_>, begun: &Begun<'_>, rest: &str) {
        let Some((before, after)) = rest.rsplit_once(" = ") else {
            // `exit_group(0) = ?` has a result, and a call that never returned has none.
            return;
        };
        // Of a call that was interrupted the arguments are on its first line.
        let own = if begun.arguments.len() == rest.len() { before } else { begun.arguments };
        let own = own.trim_end().strip_suffix(')').unwrap_or(own);
        let arguments = split(own);
        let folder = self.folders.entry(line.thread).or_insert_with(|| MOUNTED.into());
        // strace shows the working folder with each call that starts from it.
        for argument in &arguments {
            if let Some(path) =
                argument.strip_prefix("AT_FDCWD<").and_then(|it| it.strip_suffix('>'))
            {
                *folder = unescaped(path);
            }
        }
        let kind = CallKind::of(begun.name, &arguments);
        let Some(path) = below_mount(path(begun.name, &arguments, folder)) else { return };
        let from = is_rename(begun.name).then(|| named(&arguments, folder, false)).flatten();
        // Of a call that never ended only its beginning is known.
        let took = duration(after).unwrap_or(Span::ZERO);
        let result = after.split([' ', '<']).next().and_then(|text| text.parse::<u64>().ok());
        let moves = matches!(kind, CallKind::Read | CallKind::Write);
        self.found.calls.push(Call {
            process: unescaped(line.process),
            window: (begun.at, begun.at + took),
            name: begun.name.to_owned(),
            kind,
            path,
            // A rename that failed changed no name.
            from: below_mount(from).filter(|_| result == Some(0)),
            bytes: result.filter(|_| moves).unwrap_or(0),
            offset: offset(begun.name, &arguments),
            stack: Vec::new(),
        });
    }
}

impl<'a> Line<'a> {
    /// Reads `123<name> 1735689600.000000001 text`; a name may contain almost anything.
    fn parse(line: &'a str) -> Option<Self> {
        let (thread, rest) = line.split_once('<')?;
        let thread = thread.parse().ok()?;
        // The first end that a time follows is that of the name.
        let ends = rest.match_indices("> ");
        let mut found = ends.filter_map(|(end, _)| {
            let (time, text) = rest[end + 2..].split_once(' ')?;
            Some(Self { process: &rest[..end], thread, at: time_of(time)?, text })
        });
        found.next()
    }
}

/// Reads seconds since 1970 with nine decimals, as virtual time.
fn time_of(text: &str) -> Option<Time> {
    let (seconds, ns) = text.split_once('.')?;
    let ns: u64 = (ns.len() == 9).then(|| ns.parse().ok())??;
    let since_1970 = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns)?;
    // The guest's clock starts at START_NS, and its virtual time at 0.
    Some(Time::from_ns(since_1970.checked_sub(START_NS)?))
}

/// Reads the duration at the end of a line: `4096 <0.000012418>`.
fn duration(result: &str) -> Option<Span> {
    let (_, time) = result.trim_end().strip_suffix('>')?.rsplit_once('<')?;
    let (seconds, ns) = time.split_once('.')?;
    let ns: u64 = (ns.len() == 9).then(|| ns.parse().ok())??;
    let seconds: u64 = seconds.parse().ok()?;
    Some(Span::from_ns(seconds.checked_mul(1_000_000_000)?.checked_add(ns)?))
}

/// Splits the arguments of a call at the commas that are not within quotes or brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut found, mut from, mut depth) = (Vec::new(), 0, 0_usize);
    let (mut is_quoted, mut is_path, mut is_escaped) = (false, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' if !is_path => is_quoted = !is_quoted,
            _ if is_quoted => {}
            // The path of an open file has any brackets, but strace escapes its `>`.
            '>' => is_path = false,
            _ if is_path => {}
            '<' => is_path = true,
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[from..].trim());
    found
}

impl CallKind {
    /// The kind of a call with these arguments.
    fn of(name: &str, arguments: &[&str]) -> Self {
        match name {
            _ if READS.contains(&name) => Self::Read,
            _ if WRITES.contains(&name) => Self::Write,
            _ if SYNCS.contains(&name) => Self::Sync,
            _ if CHANGES.contains(&base(name)) => Self::Change,
            "mmap" if arguments.get(3).is_some_and(|flags| flags.contains("MAP_SHARED")) => {
                let writes = arguments.get(2).is_some_and(|access| access.contains("WRITE"));
                if writes { Self::Map } else { Self::Other }
            }
            "io_uring_enter" => Self::Ring,
            // FICLONE and its relatives share the blocks of another file.
            "ioctl" if arguments.get(1).is_some_and(|request| request.contains("CLONE")) => {
                Self::Change
            }
            _ => Self::Other,
        }
    }
}

/// The name of a call without the endings of its variants: `renameat2` is `rename`.
fn base(name: &str) -> &str {
    name.trim_end_matches("at2").trim_end_matches("at").trim_end_matches("64")
}

/// Returns the path that a call concerns, as the guest sees it; nothing for a call on no file.
fn path(name: &str, arguments: &[&str], folder: &str) -> Option<String> {
    // These name no file: they concern all of the file system.
    if ["sync", "io_uring_enter", "msync"].contains(&name) {
        return Some(MOUNTED.into());
    }
    // A call with two names ends up at the second one.
    let has_two = is_rename(name) || ["link", "symlink"].iter().any(|base| name.starts_with(base));
    let takes_data = READS.contains(&name) || WRITES.contains(&name);
    if let Some(path) = named(arguments, folder, has_two).filter(|_| !takes_data) {
        return Some(path);
    }
    let at = match name {
        "copy_file_range" => 2,
        "mmap" => 4,
        _ => 0,
    };
    arguments.get(at).copied().and_then(of_file)
}

fn is_rename(name: &str) -> bool {
    name.starts_with("rename")
}

/// Returns the first path, or the last one, that a call names in quotes.
fn named(arguments: &[&str], folder: &str, is_last: bool) -> Option<String> {
    let mut all =
        arguments.iter().enumerate().filter_map(|(at, argument)| Some((at, unquoted(argument)?)));
    let (at, name) = if is_last { all.next_back() } else { all.next() }?;
    if name.starts_with('/') {
        return Some(name);
    }
    // The folder that a name starts from stands before it, or it is the working folder.
    let before = at.checked_sub(1).and_then(|at| arguments.get(at)).copied();
    let folder = before.and_then(of_file).unwrap_or_else(|| folder.to_owned());
    // `fstat` is a call that names no file.
    Some(if name.is_empty() { folder } else { format!("{folder}/{name}") })
}

/// Returns the path of an open file: `3</mnt/db>`.
fn of_file(argument: &str) -> Option<String> {
    let (number, rest) = argument.split_once('<')?;
    let is_number = number == "AT_FDCWD" || number.parse::<u32>().is_ok();
    let path = rest.strip_suffix("(deleted)").unwrap_or(rest).strip_suffix('>')?;
    is_number.then(|| unescaped(path))
}

/// Returns the path below the mount point, if it is there.
fn below_mount(path: Option<String>) -> Option<String> {
    match path?.strip_prefix(MOUNTED)? {
        "" | "/" => Some(".".into()),
        rest => Some(rest.strip_prefix('/')?.trim_start_matches("./").to_owned()),
    }
}

fn offset(name: &str, arguments: &[&str]) -> Option<u64> {
    let has_offset = ["pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2"];
    arguments.get(3).filter(|_| has_offset.contains(&name))?.parse().ok()
}

/// Returns the text of a quoted argument; strace never shortens a path.
fn unquoted(argument: &str) -> Option<String> {
    let text = argument.strip_prefix('"')?.strip_suffix('"')?;
    Some(unescaped(text))
}

/// Returns a text of strace with its escapes resolved.
fn unescaped(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let digits = tail.iter().take(3).take_while(|b| matches!(b, b'0'..=b'7')).count();
        let taken = digits.max(1).min(tail.len());
        bytes.push(match &tail[..taken] {
            [] => b'\\',
            [b'n'] => b'\n',
            [b't'] => b'\t',
            [b'r'] => b'\r',
            [b'v'] => 0x0B,
            [b'f'] => 0x0C,
            [other] if digits == 0 => *other,
            octal => octal.iter().fold(0_u8, |sum, b| sum.wrapping_mul(8).wrapping_add(b - b'0')),
        });
        rest = &tail[taken..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// In the first second of the guest.
    fn calls(text: &str) -> Vec<Call> {
        let text = text.replace(" @", " 1735689600.");
        let found = Calls::parse(text.lines());
        assert_eq!(found.unknown, 0, "{text}");
        found.calls
    }

    fn check(line: &str, expected: (&str, CallKind, &str, u64)) {
        let found = calls(line);
        let [call] = &found[..] else { panic!("{line}: {found:?}") };
        let seen = (call.name.as_str(), call.kind, call.path.as_str(), call.bytes);
        assert_eq!(seen, expected, "{line}");
    }

    #[test]
    fn calls_have_their_file_kind_and_bytes() {
        use CallKind::{Change, Map, Other, Read, Sync, Write};
        let line = "7<sqlite3> @000000009 pwrite64(4</mnt/db-wal>, \"\"..., 4096, 8192) = 4096 \
                    <0.000012418>";
        check(line, ("pwrite64", Write, "db-wal", 4096));
        let call = &calls(line)[0];
        assert_eq!(call.window, (Time::from_ns(9), Time::from_ns(12_427)));
        assert_eq!((call.process.as_str(), call.offset), ("sqlite3", Some(8192)));
        let plain = |rest: &str| format!("7<a b> c> @000000001 {rest} <0.000000002>");
        check(&plain("fdatasync(3</mnt/d/x>(deleted)) = 0"), ("fdatasync", Sync, "d/x", 0));
        check(&plain("sync()    = 0"), ("sync", Sync, ".", 0));
        check(&plain("unlink(\"db-journal\") = 0"), ("unlink", Change, "db-journal", 0));
        check(&plain("rename(\"a\", \"b\") = 0"), ("rename", Change, "b", 0));
        let at = "renameat2(AT_FDCWD</mnt/d>, \"a\", AT_FDCWD</mnt/d>, \"b\", 0) = 0";
        check(&plain(at), ("renameat2", Change, "d/b", 0));
        assert_eq!(calls(&plain(at))[0].from.as_deref(), Some("d/a"));
        let open = "openat(AT_FDCWD</mnt>, \"a = b\", O_RDWR|O_CREAT, 0644) = 5</mnt/a = b>";
        check(&plain(open), ("openat", Other, "a = b", 0));
        let copy = "copy_file_range(5</mnt/a>, NULL, 6</mnt/b>, NULL, 5, 0) = 5";
        check(&plain(copy), ("copy_file_range", Write, "b", 5));
        let map = "mmap(NULL, 32768, PROT_READ|PROT_WRITE, MAP_SHARED, 5</mnt/db-shm>, 0) = 0x7";
        check(&plain(map), ("mmap", Map, "db-shm", 0));
        let stat = "newfstatat(3</mnt/db>, \"\", {st_size=0, ...}, AT_EMPTY_PATH) = 0";
        check(&plain(stat), ("newfstatat", Other, "db", 0));
        let failed = "read(3</mnt/db>, 0x7ff, 8) = -1 EIO (Input/output error)";
        check(&plain(failed), ("read", Read, "db", 0));
        let odd = "write(5</mnt/sp ace\\n\\76\\\"\\303\\251>, \"\"..., 5) = 5";
        check(&plain(odd), ("write", Write, "sp ace\n>\"\u{e9}", 5));
        for name in ["a[1", "a]", "{a", "a<b", "(a, b"] {
            check(
                &plain(&format!("write(1</mnt/{name}>, \"\"..., 1) = 1")),
                ("write", Write, name, 1),
            );
        }
    }

    #[test]
    fn a_call_that_others_interrupt_is_put_together() {
        let text = "\
1<m> @000000010 fsync(3</mnt/th> <unfinished ...>
2<m> @000000020 pwrite64(4</mnt/th>, \"\"..., 1, 4096) = 1 <0.000000005>
1<m> @000000900 <... fsync resumed>) = 0 <0.000000890>
2<m> @000000950 <... openat resumed>) = 0 <0.000000890>
2<m> @000000960 +++ exited with 0 +++
";
        let found = calls(text);
        let seen: Vec<_> = found.iter().map(|call| (call.name.as_str(), call.window.1)).collect();
        assert_eq!(seen, [("fsync", Time::from_ns(900)), ("pwrite64", Time::from_ns(25))]);
    }

    #[test]
    fn a_stack_belongs_to_the_call_above_it() {
        let text = "\
1<m> @000000010 fsync(3</mnt/a>) = 0 <0.000000890>
 > /lib/libc.so.6(fsync+0x17) [0x20]
 > /bin/m(save+0x4) [0x1000]
1<m> @000000910 close(9</tmp/x>) = 0 <0.000000001>
 > /lib/libc.so.6(close+0x17) [0x30]
1<m> @000000920 fsync(3</mnt/a>) = 0 <0.000000890>
 > unexpected_backtracing_error [0x20]
";
        let found = calls(text);
        let stacks: Vec<Vec<(&str, u64)>> = found
            .iter()
            .map(|call| call.stack.iter().map(|it| (it.file.as_str(), it.offset)).collect())
            .collect();
        assert_eq!(stacks, [vec![("/lib/libc.so.6", 0x20), ("/bin/m", 0x1000)], vec![]]);
    }

    #[test]
    fn what_is_elsewhere_is_left_out_and_another_dialect_is_counted() {
        let elsewhere = "7<sh> @000000001 write(1</dev/tty0>, \"\"..., 4) = 4 <0.000000001>";
        assert!(calls(elsewhere).is_empty());
        assert!(calls("7<sh> @000000001 read(3</mntx/y>, \"\", 4) = 0 <0.000000001>").is_empty());
        let old = Calls::parse("7 12:00:00 write(1, \"\", 4) = 4".lines());
        assert_eq!((old.calls.len(), old.unknown), (0, 1));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(?s).{0,200}", call in "[a-z0-9]{1,8}\\([^\\n]{0,60}") {
            let _ = Calls::parse(text.lines());
            let line = format!("1<x> 1735689600.000000001 {call}");
            prop_assert!(Calls::parse(line.lines()).calls.len() <= 1);
        }
    }
}
