//! Fields of the lines of traces.

use drivelab_core::TraceEntry as Entry;
use drivelab_core::{Invalid, Lba, Op, Request, RequestId, Sectors, Span, invalid};

/// The parsed form of a line.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) entry: Entry,
    /// The drive's cache is flushed before it.
    pub(super) flushes_before: bool,
    /// The recorded arrival in nanoseconds, from any origin.
    pub(super) arrival_ns: Option<u64>,
}

/// The longest valid request: 1 GiB.
const LONGEST: u64 = 1 << 21;

/// A transfer of `sectors` from `lba` on.
pub(super) fn transfer(op: Op, lba: u64, sectors: u64) -> Result<Request, Invalid> {
    if !(1..=LONGEST).contains(&sectors) {
        return Err(invalid!("a request of {sectors} sectors; expected 1 to {LONGEST}"));
    }
    // Byte offsets of such a sector exceed 64 bits.
    if lba > u64::MAX / 1024 {
        return Err(invalid!("sector {lba} is past the end of any drive"));
    }
    let (lba, sectors) = (Lba::new(lba), Sectors::new(sectors));
    Ok(Request { id: RequestId(0), op, lba, sectors, fua: false, submitter: 0 })
}

/// A transfer of whole or part sectors, in bytes.
pub(super) fn transfer_of_bytes(op: Op, offset: u64, bytes: u64) -> Result<Request, Invalid> {
    let first = offset / 512;
    let end = offset.saturating_add(bytes).div_ceil(512);
    transfer(op, first, end.saturating_sub(first))
}

/// A whole number; `what` names it in messages.
pub(super) fn whole(word: Option<&str>, what: &str) -> Result<u64, Invalid> {
    let word = word.ok_or_else(|| format!("the line ends before the {what}"))?;
    word.parse().map_err(|_| invalid!("`{word}` is not a whole number for the {what}"))
}

/// A time in `unit_ns` units, in nanoseconds: digits, exactly, without floats.
pub(super) fn time(word: Option<&str>, unit_ns: u64, what: &str) -> Result<Span, Invalid> {
    let word = word.ok_or_else(|| format!("the line ends before the {what}"))?;
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    let whole: u64 = whole.parse().map_err(|_| not_a_time(word, what))?;
    // Digits beyond the ninth are less than a nanosecond in every unit of a trace.
    let digits = &fraction.as_bytes()[..fraction.len().min(9)];
    if !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(not_a_time(word, what).into());
    }
    let value = digits.iter().fold(0_u64, |value, digit| value * 10 + u64::from(digit - b'0'));
    let scale = digits.iter().fold(1_u64, |scale, _| scale * 10);
    // Rounded to the nearest nanosecond.
    let part =
        (u128::from(value) * u128::from(unit_ns) + u128::from(scale / 2)) / u128::from(scale);
    let part = u64::try_from(part).map_err(|_| not_a_time(word, what))?;
    debug_assert!(part <= unit_ns, "a fraction of a unit");
    let ns = whole.checked_mul(unit_ns).and_then(|ns| ns.checked_add(part));
    let ns = ns.ok_or_else(|| not_a_time(word, what))?;
    Ok(Span::from_ns(ns))
}

fn not_a_time(word: &str, what: &str) -> String {
    format!("`{word}` is not a time for the {what}")
}

/// True for `major,minor`.
pub(super) fn is_device(word: &str) -> bool {
    let numbers = word.split_once(',');
    numbers
        .is_some_and(|(major, minor)| major.parse::<u32>().is_ok() && minor.parse::<u32>().is_ok())
}
