//! One line of a pasted text.

use super::changes::Changes;

/// Longest prompt that is recognised, in bytes.
const PROMPT_MAX: usize = 100;
/// Longest name of a language behind a fence.
const LANGUAGE_MAX: usize = 30;
/// The character that begins an escape sequence.
const ESCAPE: char = '\u{1b}';

/// A line with its end, and the blanks that precede every line of the text.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    text: &'a str,
    end: &'a str,
    indent: usize,
    /// The line above is a quotation: a mark alone is an empty line of it.
    follows_quote: bool,
}

impl<'a> Line<'a> {
    pub(super) fn new(whole: &'a str, indent: usize) -> Self {
        let text = whole.strip_suffix('\n').unwrap_or(whole);
        let text = text.strip_suffix('\r').unwrap_or(text);
        let end = if whole.ends_with('\n') { "\n" } else { "" };
        Self { text, end, indent, follows_quote: false }
    }

    /// True if anything in it is not as the tool wrote it.
    pub(super) fn needs_change(self) -> bool {
        let blanks = self.text.len() - self.text.trim_start().len();
        self.text.contains(is_removed)
            || self.text.contains(is_blank)
            || (self.indent > 0 && blanks > 0)
            || is_fence(self.text)
            || inline_code(self.text).is_some()
            || unquoted(self.text, false).1 > 0
            || without_prompt(self.text).is_some()
    }

    /// The same line below another one, which may be a quotation.
    pub(super) fn below(self, is_quoted: bool) -> Self {
        Self { follows_quote: is_quoted, ..self }
    }

    /// Appends it as the tool wrote it; true if it is a quotation.
    pub(super) fn write(self, out: &mut String, changes: &mut Changes) -> bool {
        let plain: String;
        let mut text = self.text;
        if text.contains(is_removed) || text.contains(is_blank) {
            plain = printed(text, changes);
            text = &plain;
        }
        let blanks = text.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        text = &text[blanks.min(self.indent)..];
        let (inside, marks) = unquoted(text, self.follows_quote);
        if marks > 0 {
            changes.quoted += 1;
            text = inside;
        }
        if is_fence(text) {
            changes.fences += 1;
            text = "";
        } else if let Some(code) = inline_code(text) {
            changes.fences += 1;
            text = code;
        } else if let Some(command) = without_prompt(text) {
            changes.prompts += 1;
            text = command;
        }
        out.push_str(text);
        out.push_str(self.end);
        marks > 0
    }
}

/// True for characters that no tool writes into its result.
fn is_removed(c: char) -> bool {
    (c.is_control() && c != '\t') || matches!(c, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}')
}

/// True for blanks that pages use instead of the plain one.
fn is_blank(c: char) -> bool {
    matches!(c, '\u{a0}' | '\u{202f}' | '\u{2007}' | '\u{3000}')
}

/// The characters that a terminal shows in the end.
fn printed(text: &str, changes: &mut Changes) -> String {
    let mut plain = String::with_capacity(text.len());
    // The part after the last carriage return.
    let mut begin = 0;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            ESCAPE => {
                skip_sequence(&mut rest);
                changes.escapes += 1;
            }
            '\r' => begin = plain.len(),
            _ if is_blank(c) => plain.push(' '),
            // A mark of the byte order is none of the text.
            '\u{feff}' => {}
            _ if is_removed(c) => changes.controls += 1,
            _ => {
                // Something follows a carriage return: it overwrites the line up to there.
                if begin > 0 && begin == plain.len() {
                    changes.overwritten += u64::from(!plain.trim().is_empty());
                    plain.clear();
                    begin = 0;
                }
                plain.push(c);
            }
        }
    }
    plain
}

/// Skips the rest of an escape sequence (ECMA-48): a command with parameters, a string up to its
/// end, or a single character.
fn skip_sequence(rest: &mut std::str::Chars) {
    match rest.next() {
        Some('[') => {
            rest.find(|c| ('@'..='~').contains(c));
        }
        // It ends with a bell, or with an escape and a backslash.
        Some(']' | 'P' | '_' | '^') => {
            let end = rest.find(|c| matches!(c, '\u{7}' | &ESCAPE));
            if end == Some(ESCAPE) {
                rest.next();
            }
        }
        Some('(' | ')' | '#' | '%') => {
            rest.next();
        }
        _ => {}
    }
}

/// The text without the marks of a quotation, and their number. A mark alone in its line may also
/// close a tag of XML.
fn unquoted(text: &str, follows_quote: bool) -> (&str, usize) {
    let (mut rest, mut marks) = (text, 0);
    while let Some(inside) = rest.trim_start_matches([' ', '\t']).strip_prefix('>') {
        let is_empty = inside.is_empty() && (follows_quote || marks > 0);
        let is_mark = is_empty || inside.starts_with([' ', '\t', '>']);
        if !is_mark {
            break;
        }
        rest = inside.strip_prefix(' ').unwrap_or(inside);
        marks += 1;
    }
    (if marks > 0 { rest } else { text }, marks)
}

/// A line that begins or ends a code block of Markdown.
fn is_fence(text: &str) -> bool {
    let text = text.trim();
    let language = text.strip_prefix("```").or_else(|| text.strip_prefix("~~~"));
    language.is_some_and(|language| {
        language.len() <= LANGUAGE_MAX && !language.contains(['`', '~', ' '])
    })
}

/// The text of a line that Markdown marks as code as a whole.
fn inline_code(text: &str) -> Option<&str> {
    let code = text.trim().strip_prefix('`')?.strip_suffix('`')?;
    (!code.is_empty() && !code.contains('`')).then_some(code)
}

/// The command behind a prompt: `[root@h ~]# dd ...`, `user@host:~$ fio ...`, `$ fio`, or
/// `C:\> diskspd`.
fn without_prompt(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let command = match text.as_bytes() {
        [b'$', b' ', ..] => &text[2..],
        [b'[', ..] => behind_sign(text, |prompt| prompt.contains('@') && prompt.ends_with(']'))?,
        [b'P', b'S', b' ', ..] => behind_bracket(&text[3..])?,
        [drive, b':', b'\\', ..] if drive.is_ascii_alphabetic() => behind_bracket(text)?,
        [first, ..] if first.is_ascii_alphanumeric() => behind_sign(text, |prompt| {
            prompt.contains('@') && prompt.contains(':') && !prompt.contains([' ', '/'])
                || prompt.contains('@') && prompt.contains(":/") && !prompt.contains(' ')
        })?,
        _ => return None,
    };
    let command = command.trim_start();
    command
        .starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '.' | '/'))
        .then_some(command)
}

/// The text behind the first `# ` or `$ `, if a prompt precedes it.
fn behind_sign(text: &str, is_prompt: fn(&str) -> bool) -> Option<&str> {
    let at = text.bytes().take(PROMPT_MAX).position(|byte| matches!(byte, b'#' | b'$'))?;
    let command = text[at + 1..].strip_prefix(' ')?;
    is_prompt(&text[..at]).then_some(command)
}

/// The text behind the `>` of a prompt of Windows, which begins with a path.
fn behind_bracket(text: &str) -> Option<&str> {
    let at = text.bytes().take(PROMPT_MAX).position(|byte| byte == b'>')?;
    text.get(1..3).is_some_and(|it| it == ":\\").then(|| &text[at + 1..])
}
