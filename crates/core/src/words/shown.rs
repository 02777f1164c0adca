//! Text of others as it may stand on a terminal.
//!
//! Labels, titles, names of arms and models, and text from other hosts come from files,
//! archives and devices. A terminal would act on some characters in them: escape sequences move
//! the cursor or set the clipboard, overrides of the writing direction make a text look like
//! another one.

use std::borrow::Cow;

/// True for a character on which a terminal acts, or which reorders those around it.
fn is_active(c: char) -> bool {
    matches!(c,
        // Marks, embeddings, overrides and isolates of the writing direction.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Separators of lines and of paragraphs.
        | '\u{2028}' | '\u{2029}'
        // Noncharacters, which mean something within a program only.
        | '\u{fdd0}'..='\u{fdef}')
        || c.is_control()
}

/// The text with every character on which a terminal acts escaped, but for line breaks and tabs.
pub fn shown(text: &str) -> Cow<'_, str> {
    replaced(text, |c| is_active(c) && !matches!(c, '\n' | '\t'), escape)
}

/// As [`shown`] for text that must not break a line: line breaks and tabs are escaped as well.
pub fn shown_in_line(text: &str) -> Cow<'_, str> {
    replaced(text, is_active, escape)
}

/// A JSON document with these characters escaped as JSON has it: the value stays the same.
pub fn shown_json(document: &str) -> Cow<'_, str> {
    // In JSON, the others stand between values.
    replaced(document, |c| is_active(c) && !matches!(c, '\n' | '\t' | '\r'), escape_json)
}

fn escape_json(into: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        into.push_str(&format!("\\u{unit:04x}"));
    }
}

fn escape(into: &mut String, c: char) {
    into.extend(c.escape_default());
}

fn replaced(
    text: &str,
    is_replaced: impl Fn(char) -> bool,
    escape: impl Fn(&mut String, char),
) -> Cow<'_, str> {
    if !text.contains(&is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut replaced = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_replaced(c) { escape(&mut replaced, c) } else { replaced.push(c) }
    }
    Cow::Owned(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_escaped() {
        let check = |text: &str, expected: &str| assert_eq!(shown(text), expected, "{text:?}");
        check("plain, \u{e9}\u{4e2d} and \u{1f642}", "plain, \u{e9}\u{4e2d} and \u{1f642}");
        check("a\tb\nc", "a\tb\nc");
        check("\u{1b}[2J\r\0\u{7}\u{7f}", "\\u{1b}[2J\\r\\u{0}\\u{7}\\u{7f}");
        check("\u{9b}31m\u{85}", "\\u{9b}31m\\u{85}");
        check("a\u{202e}b\u{2069}c\u{200f}d\u{61c}", "a\\u{202e}b\\u{2069}c\\u{200f}d\\u{61c}");
        check("a\u{2028}b\u{2029}\u{fdd1}", "a\\u{2028}b\\u{2029}\\u{fdd1}");
        assert_eq!(shown_in_line("a\tb\nc"), "a\\tb\\nc");
    }

    proptest::proptest! {
        #[test]
        fn json_keeps_its_value(
            text: String,
            active in "[\u{7f}-\u{9f}\u{202a}-\u{202e}\u{2066}-\u{2069}]*",
        ) {
            let value = serde_json::Value::String(text + &active);
            let document = value.to_string();
            let escaped = shown_json(&document);
            assert!(!escaped.chars().any(is_active), "{escaped:?}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
        }
    }
}
