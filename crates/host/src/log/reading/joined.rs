//! Several lines of a log in one, as some archives of mails and pages leave them.

use memchr::memchr_iter;

/// Digits after the point in a stamp of the kernel.
const FRACTION: usize = 6;

/// Returns whether a line has more than one stamp (`[   43.004983] `).
pub(super) fn is_joined(line: &[u8]) -> bool {
    // A single bracket is the stamp of a usual line.
    memchr_iter(b'[', line).nth(1).is_some() && stamps(line).nth(1).is_some()
}

/// The lines in a line, each with its stamp; a line without a stamp as it is.
pub(super) fn parts(line: &str) -> impl Iterator<Item = &str> {
    let mut cuts: Vec<usize> = stamps(line.as_bytes()).collect();
    // A date and the name of the kernel belong to the stamp that follows.
    let before = cuts.first().and_then(|first| line.get(..*first)).unwrap_or("");
    if !cuts.is_empty() && (before.trim().is_empty() || before.contains("kernel: ")) {
        cuts.remove(0);
    }
    cuts.push(line.len());
    let mut start = 0;
    cuts.into_iter().map(move |end| {
        let part = &line[start..end];
        start = end;
        part
    })
}

/// The beginnings of the stamps in a line.
fn stamps(line: &[u8]) -> impl Iterator<Item = usize> {
    memchr_iter(b'[', line).filter(|at| is_stamp(&line[at + 1..]))
}

/// Returns whether it begins with `   43.004983] `.
fn is_stamp(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    let whole = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let Some((b'.', rest)) = text.get(whole..).and_then(<[u8]>::split_first) else { return false };
    let fraction = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    whole > 0 && fraction == FRACTION && rest[fraction..].starts_with(b"] ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_before_their_stamps() {
        let check = |line: &str, expected: &[&str]| {
            assert_eq!(parts(line).map(str::trim).collect::<Vec<_>>(), expected, "{line}");
        };
        check("[    1.000001] ata1: [sda] text", &["[    1.000001] ata1: [sda] text"]);
        check("[ 1.000001] a: b [ 2.000002] c: d", &["[ 1.000001] a: b", "[ 2.000002] c: d"]);
        check(
            "$ dmesg [ 1.000001] a [ 2.000002] c",
            &["$ dmesg", "[ 1.000001] a", "[ 2.000002] c"],
        );
        check(
            "May 1 1:02:03 h kernel: [ 1.000001] a [ 2.000002] c",
            &["May 1 1:02:03 h kernel: [ 1.000001] a", "[ 2.000002] c"],
        );
        check("", &[""]);
        check("[1.5] a [2.5] b", &["[1.5] a [2.5] b"]);
    }
}
