//! Text as people have it: copied from a terminal, a mail, a page or a console of Windows.
//!
//! Applied once, in front of every reader, which then sees plain UTF-8 with the lines that the tool
//! wrote. The number of lines stays, so that messages name lines of the file. Linear time; a text
//! that needs no change is not copied.

mod changes;
mod encoding;
mod line;
mod seems;
mod stamp;

pub(crate) use seems::{compressed, seems};

use changes::Changes;
use line::Line;

/// A text that is ready for the readers, and what was done to it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paste {
    /// The text.
    pub text: String,
    /// The changes made to it, in one sentence; empty if there was none.
    pub notes: Vec<String>,
}

/// Makes text of bytes. Binary data stays what it is, so that the readers refuse it.
pub fn clean(bytes: Vec<u8>) -> Paste {
    let mut changes = Changes::default();
    let text = match encoding::decode(bytes, &mut changes) {
        Ok(text) => text,
        Err(encoding::Binary(text)) => return Paste { text, notes: Vec::new() },
    };
    let text = clean_lines(text, &mut changes);
    Paste { text, notes: changes.note().into_iter().collect() }
}

fn clean_lines(text: String, changes: &mut Changes) -> String {
    let text = if is_comment(&text) { uncommented(&text, changes) } else { text };
    let text = stamp::without(text, changes);
    let indent = common_indent(&text);
    // Files of classic Mac OS end their lines with a carriage return alone.
    let ends_with_cr = !text.contains('\n') && text.contains('\r');
    let text = if ends_with_cr { text.replace('\r', "\n") } else { text };
    let Some(first) =
        text.split_inclusive('\n').position(|it| Line::new(it, indent).needs_change())
    else {
        return text;
    };
    let from = text.split_inclusive('\n').take(first).map(str::len).sum();
    rewritten(text, from, indent, changes)
}

/// A text whose lines from a byte on are cleaned in its memory: results can be a hundred
/// megabytes, and lines become shorter.
fn rewritten(text: String, from: usize, indent: usize, changes: &mut Changes) -> String {
    let ends = cfg!(debug_assertions).then(|| text.matches('\n').count());
    let mut bytes = text.into_bytes();
    let (mut read, mut written) = (from, from);
    let (mut line, mut is_quoted) = (String::new(), false);
    while read < bytes.len() {
        let end = bytes[read..].iter().position(|byte| *byte == b'\n');
        let end = end.map_or(bytes.len(), |at| read + at + 1);
        let whole = std::str::from_utf8(&bytes[read..end]).expect("it ends at line feeds");
        line.clear();
        is_quoted = Line::new(whole, indent).below(is_quoted).write(&mut line, changes);
        let next = written + line.len();
        if next <= end {
            bytes[written..next].copy_from_slice(line.as_bytes());
            read = end;
        } else {
            bytes.splice(written..end, line.bytes());
            read = next;
        }
        written = next;
    }
    bytes.truncate(written);
    let cleaned = String::from_utf8(bytes).expect("each line is text");
    debug_assert!(ends.is_none_or(|ends| ends == cleaned.matches('\n').count()));
    cleaned
}

/// The start of each line of a result that was pasted from a comment of a program.
const COMMENT: &str = "//";

fn is_comment(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    lines.peek().is_some() && lines.all(|line| line.starts_with(COMMENT))
}

fn uncommented(text: &str, changes: &mut Changes) -> String {
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let inside = line.trim_start_matches([' ', '\t']).strip_prefix(COMMENT);
        changes.comments += u64::from(inside.is_some());
        plain.push_str(inside.unwrap_or(line));
    }
    plain
}

/// Bytes of blanks that precede every line: an indented block of a page or a mail.
fn common_indent(text: &str) -> usize {
    let mut least = usize::MAX;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let blanks = line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        least = least.min(blanks);
        if least == 0 {
            break;
        }
    }
    if least == usize::MAX { 0 } else { least }
}

#[cfg(test)]
mod tests;
