//! XML as written by measuring tools: elements and their text, in one pass.
//!
//! Attributes are ignored. A document type is refused, so no entity can expand to more than itself.

use drivelab_core::csv::{ParseError, quote};

/// Maximum nesting of elements; the schemas in use have seven levels.
const DEPTH_MAX: usize = 64;

/// A step of the walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// An element begins.
    Open,
    /// An element ends; its text, if it contains no other element.
    Close(String),
}

/// Visits every element with its name and those of its ancestors, outermost first, and the line
/// where it begins or ends.
pub(crate) fn walk<'a>(
    text: &'a str,
    mut visit: impl FnMut(&[&'a str], usize, Step) -> Result<(), ParseError>,
) -> Result<(), ParseError> {
    let mut path: Vec<&'a str> = Vec::new();
    let mut content = String::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(at) = rest.find('<') {
        add_text(&mut content, &rest[..at], line)?;
        line += newlines(&rest[..at]);
        let (token, after) = token(&rest[at..], line)?;
        debug_assert!(after.len() < rest.len() - at, "a token takes at least its `<`");
        let raw = &rest[at..rest.len() - after.len()];
        match token {
            Token::Skip => {}
            // CDATA contains no entities.
            Token::Text(text) => content.push_str(text),
            Token::Open { name, is_empty } => {
                if path.len() == DEPTH_MAX {
                    let what = format!("more than {DEPTH_MAX} nested elements");
                    return Err(ParseError::new(line, what, "give the file as the tool wrote it"));
                }
                path.push(name);
                // Text before a child element is layout in all formats read here.
                content.clear();
                visit(&path, line, Step::Open)?;
                if is_empty {
                    visit(&path, line, Step::Close(String::new()))?;
                    path.pop();
                }
            }
            Token::Close(name) => {
                if path.last() != Some(&name) {
                    let what = format!("`</{name}>` closes no open element");
                    return Err(ParseError::new(line, what, "check whether the file is damaged"));
                }
                visit(&path, line, Step::Close(content.trim().to_owned()))?;
                content.clear();
                path.pop();
            }
        }
        line += newlines(raw);
        rest = after;
    }
    match path.last() {
        None => Ok(()),
        Some(open) => {
            let what = format!("`<{open}>` is not closed");
            let hint = "check whether the file is truncated";
            Err(ParseError::new(line + newlines(rest), what, hint))
        }
    }
}

fn newlines(text: &str) -> usize {
    text.matches('\n').count()
}

enum Token<'a> {
    /// A comment or an instruction.
    Skip,
    Text(&'a str),
    Open {
        name: &'a str,
        is_empty: bool,
    },
    Close(&'a str),
}

/// The markup at the beginning of a text, and the text after it.
fn token(text: &str, line: usize) -> Result<(Token<'_>, &str), ParseError> {
    debug_assert!(text.starts_with('<'), "the caller found the beginning of a token");
    // The longer beginnings first: a comment and CDATA begin like a declaration.
    for (start, end) in [("<!--", "-->"), ("<?", "?>")] {
        if let Some(comment) = delimited(text, start, end, line) {
            return comment.map(|(_, after)| (Token::Skip, after));
        }
    }
    if let Some(literal) = delimited(text, "<![CDATA[", "]]>", line) {
        return literal.map(|(inside, after)| (Token::Text(inside), after));
    }
    if text.starts_with("<!") {
        let what = "a document type or entity declaration";
        return Err(ParseError::new(line, what, "remove it: no known tool writes one"));
    }
    if let Some(close) = delimited(text, "</", ">", line) {
        return close.map(|(name, after)| (Token::Close(name.trim()), after));
    }
    let end = tag_end(text).ok_or_else(|| unclosed("<", line))?;
    let (inside, after) = (&text[1..end], &text[end + 1..]);
    let is_empty = inside.ends_with('/');
    let inside = inside.trim_end_matches('/');
    let name = inside.split_ascii_whitespace().next().unwrap_or("");
    if name.is_empty() || inside.starts_with(|c: char| c.is_whitespace()) {
        let hint = "check whether the file is damaged: `<` in text is written `&lt;`";
        return Err(ParseError::new(line, "`<` without the name of an element", hint));
    }
    Ok((Token::Open { name, is_empty }, after))
}

/// The text between `start`, if `text` begins with it, and `end`; and the text after `end`.
fn delimited<'a>(
    text: &'a str,
    start: &str,
    end: &str,
    line: usize,
) -> Option<Result<(&'a str, &'a str), ParseError>> {
    let inside = text.strip_prefix(start)?;
    Some(inside.split_once(end).ok_or_else(|| unclosed(start, line)))
}

fn unclosed(start: &str, line: usize) -> ParseError {
    let what = format!("`{start}` is not closed");
    ParseError::new(line, what, "check whether the file is truncated")
}

/// The `>` of a tag; those in values of attributes do not count.
fn tag_end(text: &str) -> Option<usize> {
    let mut quoted = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quoted, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quoted = Some(byte),
            (Some(open), byte) if open == byte => quoted = None,
            _ => {}
        }
    }
    None
}

/// Appends text with its entities replaced.
fn add_text(content: &mut String, text: &str, line: usize) -> Result<(), ParseError> {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        content.push_str(before);
        let entity = after.split_once(';').and_then(|(name, after)| Some((sign(name)?, after)));
        let Some((sign, after)) = entity else {
            let what = format!("{} is not an entity of XML", quote(&rest[before.len()..]));
            let hint = "write `&amp;` for `&`";
            return Err(ParseError::new(line + newlines(before), what, hint));
        };
        content.push(sign);
        rest = after;
    }
    content.push_str(rest);
    Ok(())
}

fn sign(entity: &str) -> Option<char> {
    match entity {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let digits = entity.strip_prefix('#')?;
            let code = match digits.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Result<Vec<String>, ParseError> {
        let mut steps = Vec::new();
        walk(text, |path, line, step| {
            if let Step::Close(text) = step {
                steps.push(format!("{line} {}={text}", path.join("/")));
            }
            Ok(())
        })?;
        Ok(steps)
    }

    #[test]
    fn elements_have_their_path_line_and_text() {
        let text = "<?xml version=\"1.0\"?>\n<!-- a <b> -->\n<a x='>'>\n <b>1 &lt; 2 &#38; \
                    &#x33;</b>\n<c/><d><![CDATA[<&]]></d></a>\n";
        let expected = ["4 a/b=1 < 2 & 3", "5 a/c=", "5 a/d=<&", "5 a="];
        assert_eq!(steps(text).unwrap(), expected);
    }

    #[test]
    fn broken_documents_are_refused_with_their_line() {
        let check = |text: &str, expected: &str| {
            assert_eq!(steps(text).unwrap_err().to_string(), expected);
        };
        check("<a>\n<b>", "line 2: `<b>` is not closed; check whether the file is truncated");
        check(
            "<a></b>",
            "line 1: `</b>` closes no open element; check whether the file is damaged",
        );
        check("<a", "line 1: `<` is not closed; check whether the file is truncated");
        check("<a>\n&x;</a>", "line 2: `&x;` is not an entity of XML; write `&amp;` for `&`");
        check(
            "<!DOCTYPE a>",
            "line 1: a document type or entity declaration; remove it: no known tool writes one",
        );
        check(
            "<a>1 < 2</a>",
            "line 1: `<` without the name of an element; check whether the file is damaged: `<` \
             in text is written `&lt;`",
        );
        check(
            &"<a>".repeat(65),
            "line 1: more than 64 nested elements; give the file as the tool wrote it",
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = steps(&text);
        }

        #[test]
        fn no_markup_panics(text in "[<>/!?&;#x\\[\\]CDATA\"'a 1\n-]{0,60}") {
            let _ = steps(&text);
        }
    }
}
