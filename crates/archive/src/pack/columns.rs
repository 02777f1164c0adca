//! The distributions in a record, which are most of it, apart from the rest of its text.
//!
//! A record has them as `"buckets":[[low,count],...]`, and as a list of `"buckets_ns"`, second by
//! second. The lows are few and ascend: as indices of a table, each relative to the one before,
//! they take some bits, where their digits take bytes. The text itself comes back to the byte.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use drivelab_core::Invalid;

/// The beginning of the key before a distribution, and its possible ends.
const KEY: &str = "\"buckets";
const ENDS: [&str; 2] = ["\":", "_ns\":"];
/// The mark that replaces it: no JSON holds it.
const MARK: char = '\u{1}';

/// Buckets as they were counted together.
type Buckets = Vec<(u64, u64)>;

/// A distribution, or one for each interval of a run.
enum Distribution {
    Whole(Buckets),
    Intervals(Vec<Buckets>),
}

/// The length of the text that is left, that text, and the distributions in columns; `None` for a
/// text without any.
pub(super) fn split(text: &str) -> Option<Vec<u8>> {
    if text.contains(MARK) {
        return None;
    }
    let (mut left, mut columns, mut rest) = (String::new(), Vec::new(), text);
    while let Some(at) = rest.find(KEY) {
        let (before, after) = rest.split_at(at + KEY.len());
        left.push_str(before);
        rest = after;
        let end = ENDS.into_iter().find(|end| after.starts_with(end)).unwrap_or("");
        if let Some((found, behind)) = read(&after[end.len()..]) {
            left.push_str(end);
            left.push(MARK);
            write(&found, &mut columns);
            rest = behind;
        }
    }
    left.push_str(rest);
    if columns.is_empty() {
        return None;
    }
    let mut split = Vec::new();
    put(left.len() as u64, &mut split);
    debug_assert!(left.contains(MARK), "a mark for each distribution");
    split.extend(left.into_bytes());
    split.extend(columns);
    Some(split)
}

/// Characters of a bucket, at least: `[0,0]`.
const BUCKET_BYTES_MIN: u64 = 5;

/// The text again, which has at most `length` bytes.
pub(super) fn join(split: &[u8], length: u64) -> Result<String, Invalid> {
    let (left, columns) = left(split)?;
    let (mut columns, mut text) = (Bytes(columns), String::new());
    let mut parts = left.split(MARK);
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let left = length.checked_sub(text.len() as u64).ok_or_else(damaged)?;
        let found = columns.distribution(left / BUCKET_BYTES_MIN).ok_or_else(damaged)?;
        show(&found, &mut text);
        text.push_str(part);
    }
    // Bytes behind the last column are damage as well.
    let is_whole = columns.0.is_empty() && text.len() as u64 <= length;
    if is_whole { Ok(text) } else { Err(damaged().into()) }
}

/// The text without its distributions: each is an empty list.
pub(super) fn head(split: &[u8]) -> Result<String, Invalid> {
    let (left, _) = left(split)?;
    Ok(left.replace(MARK, "[]"))
}

/// Returns the bytes of `split` that the text takes which is left, with its length before it.
pub(super) fn left_from(split: &[u8]) -> usize {
    let mut bytes = Bytes(split);
    let text = bytes.number().and_then(|left| usize::try_from(left).ok()).unwrap_or(0);
    text.saturating_add(split.len() - bytes.0.len())
}

/// The text that is left, and the columns behind it.
fn left(split: &[u8]) -> Result<(&str, &[u8]), Invalid> {
    let mut bytes = Bytes(split);
    let left = bytes.number().and_then(|left| usize::try_from(left).ok()).ok_or_else(damaged)?;
    let (left, columns) = bytes.0.split_at_checked(left).ok_or_else(damaged)?;
    Ok((std::str::from_utf8(left).map_err(Invalid::new)?, columns))
}

fn damaged() -> String {
    "its distributions are damaged".to_owned()
}

/// The distribution that `text` begins with, written as a record has it, and what follows.
fn read(text: &str) -> Option<(Distribution, &str)> {
    if let Some((buckets, rest)) = buckets(text).filter(|(buckets, _)| !buckets.is_empty()) {
        return Some((Distribution::Whole(buckets), rest));
    }
    let (mut intervals, mut rest) = (Vec::new(), text.strip_prefix('[')?);
    loop {
        let (interval, behind) = buckets(rest)?;
        intervals.push(interval);
        match behind.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Some((Distribution::Intervals(intervals), behind.strip_prefix(']')?)),
        }
    }
}

fn buckets(text: &str) -> Option<(Buckets, &str)> {
    let (mut found, mut rest) = (Vec::new(), text.strip_prefix('[')?);
    if let Some(behind) = rest.strip_prefix(']') {
        return Some((found, behind));
    }
    loop {
        let (low, behind) = number(rest.strip_prefix('[')?)?;
        let (count, behind) = number(behind.strip_prefix(',')?)?;
        found.push((low, count));
        let behind = behind.strip_prefix(']')?;
        match behind.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Some((found, behind.strip_prefix(']')?)),
        }
    }
}

/// A whole number as it is printed, without needless zeros.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(end);
    let number = digits.parse().ok()?;
    (digits.len() == 1 || !digits.starts_with('0')).then_some((number, rest))
}

fn show(found: &Distribution, text: &mut String) {
    match found {
        Distribution::Whole(buckets) => show_list(buckets, text),
        Distribution::Intervals(intervals) => {
            text.push('[');
            for (number, interval) in intervals.iter().enumerate() {
                if number > 0 {
                    text.push(',');
                }
                show_list(interval, text);
            }
            text.push(']');
        }
    }
}

fn show_list(buckets: &Buckets, text: &mut String) {
    text.push('[');
    for (number, (low, count)) in buckets.iter().enumerate() {
        let comma = if number > 0 { "," } else { "" };
        // Writing into a string cannot fail.
        let _ = write!(text, "{comma}[{low},{count}]");
    }
    text.push(']');
}

/// Table of lows, sizes of intervals, indices of the table, counts: each a column.
fn write(found: &Distribution, out: &mut Vec<u8>) {
    let whole;
    let (intervals, kind): (&[Buckets], u64) = match found {
        Distribution::Whole(buckets) => {
            whole = [buckets.clone()];
            (&whole, 0)
        }
        Distribution::Intervals(intervals) => (intervals, 1 + intervals.len() as u64),
    };
    put(kind, out);
    let all: Vec<&(u64, u64)> = intervals.iter().flatten().collect();
    let mut indices: BTreeMap<u64, u64> = all.iter().map(|(low, _)| (*low, 0)).collect();
    put(indices.len() as u64, out);
    let mut before = 0;
    // A map is in the order of its keys: no difference is negative.
    for ((low, index), number) in indices.iter_mut().zip(0..) {
        put(low - before, out);
        (before, *index) = (*low, number);
    }
    for interval in intervals {
        put(interval.len() as u64, out);
    }
    for interval in intervals {
        let mut before = 0;
        for (low, _) in interval {
            // Ascending but for what no record holds: from one index to the next it may wrap.
            put(indices[low].wrapping_sub(before), out);
            before = indices[low];
        }
    }
    for (_, count) in all {
        put(*count, out);
    }
}

/// Seven bits a byte, the lowest first; all but the last have the eighth set.
fn put(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

/// Bytes that are read from the front.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// As many numbers as bytes can hold.
    fn numbers(&mut self, count: u64) -> Option<Vec<u64>> {
        let count = usize::try_from(count).ok().filter(|count| *count <= self.0.len())?;
        (0..count).map(|_| self.number()).collect()
    }

    /// A distribution of at most `most` buckets.
    fn distribution(&mut self, most: u64) -> Option<Distribution> {
        let kind = self.number()?;
        let lows = self.number()?;
        let mut before = 0_u64;
        let mut table = self.numbers(lows)?;
        for low in &mut table {
            *low = before.checked_add(*low)?;
            before = *low;
        }
        let sizes = self.numbers(if kind == 0 { 1 } else { kind - 1 })?;
        let all = sizes.iter().try_fold(0_u64, |sum, size| sum.checked_add(*size))?;
        // A few bytes may claim more buckets than fit into memory.
        if all > most {
            return None;
        }
        let (steps, counts) = (self.numbers(all)?, self.numbers(all)?);
        debug_assert_eq!(steps.len(), counts.len(), "a count for each bucket");
        let mut buckets = steps.into_iter().zip(counts);
        let mut intervals = Vec::new();
        for size in sizes {
            let mut interval = Vec::new();
            let mut before = 0_u64;
            for (step, count) in buckets.by_ref().take(usize::try_from(size).ok()?) {
                before = before.wrapping_add(step);
                interval.push((*table.get(usize::try_from(before).ok()?)?, count));
            }
            intervals.push(interval);
        }
        match kind {
            0 => intervals.pop().map(Distribution::Whole),
            _ => Some(Distribution::Intervals(intervals)),
        }
    }
}
