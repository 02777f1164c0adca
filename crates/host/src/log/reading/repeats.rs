//! Lines that say the same as one before, except for numbers of no interest: a log full of errors
//! consists of them, and each is counted without being read again.

use std::sync::LazyLock;

use memchr::memchr_iter;
use memchr::memmem::Finder;

use super::super::effect::Effect;
use super::line::is_dated;

/// Number of buckets; a power of two.
const BUCKETS: usize = 256;
/// Number of messages kept in a bucket: those that begin with the same letters.
const BUCKET_MAX: usize = 16;
/// The part of a message that names its bucket.
const BEGINNING: usize = 24;
/// Digits after the point in the stamp of a line.
const FRACTION: usize = 6;
/// A number of this many digits is in no pattern of the table of messages, and in no name.
const DIGITS_MIN: usize = 3;
/// Words before numbers of any length that are no part of a name or a pattern either.
const WORDS: [&[u8]; 11] = [
    b"sector ",
    b"phys_seg ",
    b"block ",
    b"inode #",
    b"tag#",
    b"tag ",
    b"cmd_age=",
    b"I/O ",
    b"mirror ",
    b"device number ",
    b"uas-tag ",
];
/// Words before hexadecimal numbers that are no part of them either.
const HEX_WORDS: [&[u8]; 4] = [b"daddr 0x", b"block 0x", b"csum 0x", b"scmd(0x"];
/// The beginning of the bytes of a command, with which a line ends.
static COMMAND: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(" CDB: "));
/// The name of the kernel in the files of `syslog` and `journalctl`, and the part before it.
static KERNEL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(" kernel: "));
static KERN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("kern"));
const HEAD_BYTES_MAX: usize = 128;
/// The part of a message before the name of a disk, and where it can begin.
static DISK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(" dev "));
const DISK_BYTES_MAX: usize = 48;
/// The part of a message before the number of a request, after the name of a disk.
static NVME_REQUEST: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(": I/O "));

/// Messages that were read, each with all that it does.
#[derive(Debug)]
pub(super) struct Repeats {
    buckets: Vec<Vec<Repeat>>,
    /// The next message of a full bucket to be replaced.
    next: usize,
}

/// A message, and what it does.
#[derive(Debug)]
struct Repeat {
    message: Vec<u8>,
    effect: Effect,
}

impl Default for Repeats {
    fn default() -> Self {
        Self { buckets: (0..BUCKETS).map(|_| Vec::new()).collect(), next: 0 }
    }
}

impl Repeats {
    /// Returns the slot of a message that says the same.
    pub(super) fn find(&self, message: &[u8]) -> Option<(usize, usize)> {
        let message = without_command(message);
        let bucket = bucket_of(message);
        let at = self.buckets[bucket].iter().position(|it| is_same(&it.message, message))?;
        Some((bucket, at))
    }

    /// The effect of the message at a slot.
    pub(super) fn effect(&self, (bucket, at): (usize, usize)) -> &Effect {
        &self.buckets[bucket][at].effect
    }

    /// Keeps a message.
    pub(super) fn keep(&mut self, message: &str, effect: Effect) {
        let message = without_command(message.as_bytes()).to_vec();
        let bucket = &mut self.buckets[bucket_of(&message)];
        let repeat = Repeat { message, effect };
        if bucket.len() < BUCKET_MAX {
            bucket.push(repeat);
        } else {
            bucket[self.next % BUCKET_MAX] = repeat;
            self.next = self.next.wrapping_add(1);
        }
        debug_assert!(bucket.len() <= BUCKET_MAX, "a bucket has a limit");
    }
}

/// The seconds of a line and the start of its message, after `[   43.004983] ` or after
/// `May  1 01:02:03 host kernel: `, with the kernel's stamp or without.
pub(super) fn stamp(line: &[u8]) -> Option<(Option<u64>, usize)> {
    if line.first() == Some(&b'[') {
        return own_stamp(line).map(|(seconds, start)| (Some(seconds), start));
    }
    if !is_dated(line) {
        return None;
    }
    let head = &line[..line.len().min(HEAD_BYTES_MAX)];
    let start = KERNEL.find(head)? + KERNEL.needle().len();
    // The words before must be few, as those of a date and a host are.
    let are_few = memchr_iter(b' ', &head[..start]).count() <= 6;
    let text = &line[start..];
    if !are_few || KERN.find(text).is_some() {
        return None;
    }
    if text.first() == Some(&b'[') {
        let (seconds, after) = own_stamp(text)?;
        return starts_plainly(&text[after..]).then_some((Some(seconds), start + after));
    }
    starts_plainly(text).then_some((None, start))
}

/// Returns whether a message begins with a letter, and with nothing that phones add.
fn starts_plainly(message: &[u8]) -> bool {
    message.first().is_some_and(|byte| byte.is_ascii_alphabetic() && *byte != b'c')
}

/// Splits `[   43.004983] text` into its seconds and the start of the text.
fn own_stamp(line: &[u8]) -> Option<(u64, usize)> {
    let mut at = 1 + line.get(1..)?.iter().take_while(|byte| **byte == b' ').count();
    let (start, mut seconds) = (at, 0_u64);
    while let Some(digit) = line.get(at).filter(|byte| byte.is_ascii_digit()) {
        seconds = seconds.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        at += 1;
    }
    let fraction = line.get(at..at + FRACTION + 3)?;
    let right = at > start
        && fraction[0] == b'.'
        && fraction[1..=FRACTION].iter().all(u8::is_ascii_digit)
        && fraction.last_chunk() == Some(b"] ");
    // libata indents the second line of a report.
    let text = at + FRACTION + 3;
    let blanks = line.get(text..)?.iter().take_while(|byte| **byte == b' ').count();
    right.then_some((seconds, text + blanks))
}

/// The message without the bytes of a command.
fn without_command(message: &[u8]) -> &[u8] {
    if message.first_chunk() != Some(b"sd ") {
        return message;
    }
    COMMAND.find(message).map_or(message, |at| &message[..at + COMMAND.needle().len()])
}

/// The bucket of a message, by its beginning and the disk that it names, or by what stands before
/// and after the number of a request.
fn bucket_of(message: &[u8]) -> usize {
    let start = &message[..message.len().min(BEGINNING)];
    let numbered = memchr::memchr(b'#', start).or_else(|| {
        let is_request = message.first_chunk() == Some(b"nvme");
        NVME_REQUEST.find(start).filter(|_| is_request).map(|at| at + 5)
    });
    let (start, rest) = match numbered {
        None => (start, disk_of(message)),
        Some(at) => {
            let digits = message[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let rest = &message[at + 1 + digits..];
            (&message[..at], &rest[..rest.len().min(BEGINNING)])
        }
    };
    let words = start.chunks(8).chain(rest.chunks(8)).map(|chunk| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(bytes)
    });
    // Multiplication by an odd number spreads the letters over the highest bits.
    let hash = words.fold(0_u64, |hash, word| {
        (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    });
    usize::try_from(hash >> 32).unwrap_or_default() % BUCKETS
}

/// The name of the disk in a message of the block layer: `medium error, dev sda, sector 8`.
fn disk_of(message: &[u8]) -> &[u8] {
    let Some(at) = DISK.find(&message[..message.len().min(DISK_BYTES_MAX)]) else {
        return &message[..0];
    };
    let name = &message[at + DISK.needle().len()..];
    let letters = name.iter().take(BEGINNING).take_while(|byte| byte.is_ascii_alphanumeric());
    &name[..letters.count()]
}

/// Returns whether two messages are equal but for numbers that are no part of a name or a pattern.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let (mut one, mut other) = (one, other);
    loop {
        let equal = common(one, other);
        if equal == one.len() && equal == other.len() {
            return true;
        }
        // The number in which they differ may have begun before.
        let start = start_of_number(&one[..equal]);
        let Some((end, other_end)) = number(one, start).zip(number(other, start)) else {
            return false;
        };
        // The separator stays, so that a number that follows is judged by it.
        (one, other) = (&one[end..], &other[other_end..]);
        if one.first().is_some_and(u8::is_ascii_digit) {
            return false;
        }
    }
}

/// The start of the number in which a text ends, or its end.
fn start_of_number(text: &[u8]) -> usize {
    let hex = text.iter().rev().take_while(|it| it.is_ascii_hexdigit()).count();
    let start = text.len() - hex;
    if text[..start].ends_with(b"x") && ends_with_one_of(&text[..start], &HEX_WORDS) {
        return start;
    }
    text.len() - text.iter().rev().take_while(|it| it.is_ascii_digit()).count()
}

/// The number of equal bytes at the beginning.
fn common(one: &[u8], other: &[u8]) -> usize {
    // Eight bytes at a time: most lines differ late, in a number.
    let eights = one.as_chunks::<8>().0.iter().zip(other.as_chunks::<8>().0);
    let equal = 8 * eights.take_while(|(a, b)| a == b).count();
    let rest = one[equal..].iter().zip(&other[equal..]);
    equal + rest.take_while(|(a, b)| a == b).count()
}

/// Returns whether a text ends with one of a few words, each of two bytes or more.
fn ends_with_one_of(text: &[u8], words: &[&[u8]]) -> bool {
    // Most words differ in the last two bytes.
    let Some(last) = text.last_chunk::<2>() else { return false };
    words.iter().any(|word| word.last_chunk() == Some(last) && text.ends_with(word))
}

/// The end of a number of no interest that begins at `start`.
fn number(text: &[u8], start: usize) -> Option<usize> {
    let before = &text[..start];
    if before.ends_with(b"x") && ends_with_one_of(before, &HEX_WORDS) {
        let digits = text[start..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        return (digits > 0).then_some(start + digits);
    }
    let digits = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let stands_alone = before.last().is_some_and(|byte| matches!(byte, b' ' | b'#'));
    let long = digits >= DIGITS_MIN && !text[start + digits..].starts_with(b"-");
    let right = stands_alone && long || ends_with_one_of(before, &WORDS);
    (digits > 0 && right).then_some(start + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_differ_in_numbers_of_no_interest_are_the_same() {
        let check = |one: &str, other: &str, expected: bool| {
            assert_eq!(is_same(one.as_bytes(), other.as_bytes()), expected, "{one}: {other}");
            assert_eq!(is_same(other.as_bytes(), one.as_bytes()), expected, "{other}: {one}");
        };
        let line = |disk: &str, sector: &str, segments: &str| {
            format!(
                "I/O error, dev {disk}, sector {sector} op 0x0:(READ) phys_seg {segments} prio 2"
            )
        };
        check(&line("sda", "8", "1"), &line("sda", "7919", "128"), true);
        check(&line("sda", "1000", "10"), &line("sda", "1001", "11"), true);
        check(&line("sda", "8", "1"), &line("sdb", "8", "1"), false);
        check(&line("sda", "8", "1"), &format!("{} x", line("sda", "9", "1")), false);
        check("error -110 sending", "error -84 sending", false);
        check("I/O 29 QID 0 timeout", "I/O 29 QID 1 timeout", false);
        check("I/O 290 QID 1 timeout", "I/O 311 QID 1 timeout", true);
        check("errs: wr 0, rd 0", "errs: wr 1, rd 0", false);
        check("log_info(0x31120303)", "log_info(0x31110303)", false);
        check("md127: text", "md128: text", false);
        check("csum 0xdcc7ba9c off 1000", "csum 0xd0c7ba9c off 2000", true);
        check("hostbyte=0x01", "hostbyte=0x03", false);
        check("cmd_age=5s", "cmd_age=12s", true);
        check("I/O 5 QID 2", "I/O 77 QID 2", true);
        check("sector 12", "sector 12", true);
        check("sector 1", "sector ", false);
        check("sector 1", "sector x", false);
        check("", "", true);
    }

    #[test]
    fn stamps_are_read_as_the_kernel_writes_them() {
        assert_eq!(stamp(b"[   43.004983] a"), Some((Some(43), 15)));
        assert_eq!(stamp(b"[12345.000001] a"), Some((Some(12345), 15)));
        assert_eq!(stamp(b"[    1.000001]     res 1"), Some((Some(1), 19)));
        assert_eq!(stamp(b"May  1 01:02:03 h kernel: [   43.004983] a"), Some((Some(43), 41)));
        assert_eq!(stamp(b"2026-11-26T15:50:09+00:00 h kernel: ata1: b"), Some((None, 36)));
        for other in [
            "[43.1] a",
            "[ 43.004983]a",
            "a [ 43.004983] b",
            "[ .004983] a",
            "[",
            "",
            "May  1 01:02:03 h sshd: a",
            "May  1 01:02:03 h kernel: <6>a",
        ] {
            assert_eq!(stamp(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn no_pattern_has_a_number_that_is_left_out() {
        let table = include_str!("../messages.tsv");
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let pattern = line.rsplit('\t').next().unwrap_or_default();
            for start in 0..pattern.len() {
                let inside = number(pattern.as_bytes(), start).is_some()
                    && !pattern.as_bytes()[start.saturating_sub(1)].is_ascii_digit();
                assert!(!inside, "{pattern} at {start}");
            }
        }
    }
}
