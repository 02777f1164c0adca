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
    let mut cleaned = String::with_capacity(text.len());
    let mut is_quoted = false;
    for (index, whole) in text.split_inclusive('\n').enumerate() {
        if index < first {
            cleaned.push_str(whole);
        } else {
            let line = Line::new(whole, indent);
            is_quoted = line.below(is_quoted).write(&mut cleaned, changes);
        }
    }
    debug_assert_eq!(cleaned.matches('\n').count(), text.matches('\n').count());
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
