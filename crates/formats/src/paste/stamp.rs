//! Times before each line, which `ts` and similar programs put there.

use super::changes::Changes;

/// The names of the months in the default format of `ts`.
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// A single line with a time is rather part of a result.
const LINES_MIN: usize = 3;

/// The text without the times, if every line begins with one.
pub(super) fn without(text: String, changes: &mut Changes) -> String {
    let mut stamped = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if behind(line).is_none() {
            return text;
        }
        stamped += 1;
    }
    if stamped < LINES_MIN {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let inside = behind(line);
        changes.stamps += u64::from(inside.is_some());
        plain.push_str(inside.unwrap_or(line));
    }
    debug_assert_eq!(plain.matches('\n').count(), text.matches('\n').count());
    plain
}

/// The rest of a line behind its time and the blank or tab after that.
fn behind(line: &str) -> Option<&str> {
    let rest = iso_date(line).or_else(|| month_and_day(line))?;
    let rest = digits(rest, "##:##:##")?;
    let rest = match rest.strip_prefix(['.', ',']) {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    // A line of a table with commas is not a line behind a time.
    rest.strip_prefix(['\t', ' ']).or_else(|| rest.trim().is_empty().then_some(rest))
}

/// The rest behind a date such as `2026-11-27 `.
fn iso_date(line: &str) -> Option<&str> {
    digits(line, "####-##-##")?.strip_prefix([' ', 'T'])
}

/// The rest behind a date such as `Nov 27 `.
fn month_and_day(line: &str) -> Option<&str> {
    let month = line.get(..3).filter(|name| MONTHS.contains(name))?;
    digits(&line[month.len()..], " ## ")
}

/// The rest behind a pattern, in which `#` is a digit.
fn digits<'a>(text: &'a str, pattern: &str) -> Option<&'a str> {
    let begin = text.get(..pattern.len())?;
    let fits = begin.bytes().zip(pattern.bytes()).all(|(byte, wanted)| match wanted {
        b'#' => byte.is_ascii_digit(),
        _ => byte == wanted,
    });
    fits.then(|| &text[pattern.len()..])
}
