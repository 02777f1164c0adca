//! Reads other tools' text: lines, fields, and errors that name the position.

/// A text that could not be read: the position, the error, and the expected text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Line, from 1; 0 for the text as a whole.
    pub line: usize,
    /// Field of that line, from 1; 0 for the line as a whole.
    pub column: usize,
    /// The error.
    pub what: String,
    /// The likely cause, or a correction.
    pub hint: String,
}

impl std::error::Error for ParseError {}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.line, self.column) {
            (0, _) => {}
            (line, 0) => write!(f, "line {line}: ")?,
            (line, column) => write!(f, "line {line}, column {column}: ")?,
        }
        write!(f, "{}; {}", self.what, self.hint)
    }
}

impl ParseError {
    /// An error in a line; line 0 is the text as a whole.
    pub fn new(line: usize, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { line, column: 0, what: what.into(), hint: hint.into() }
    }

    /// Names the field of the line, from 1.
    pub fn at(self, column: usize) -> Self {
        Self { column, ..self }
    }
}

/// A non-blank line, with its number from 1.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// The whole line, including blanks.
    pub text: &'a str,
}

/// The non-blank lines. Refuses input that is not text, such as the bytes of a picture or an
/// archive.
pub fn lines(text: &str) -> Result<impl Iterator<Item = Line<'_>> + Clone, ParseError> {
    // Tools on Windows begin a file with a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = (1..).zip(text.lines()).map(|(number, text)| Line { number, text });
    if let Some(line) = lines.clone().find(|line| line.text.contains(is_binary)) {
        let hint = "give the text file itself, not an archive, an image or a database";
        return Err(ParseError::new(line.number, "this is binary data, not text", hint));
    }
    Ok(lines.filter(|line| !line.text.trim().is_empty()))
}

/// Control characters, and the replacement character of a lossy conversion from bytes.
fn is_binary(c: char) -> bool {
    (c.is_control() && c != '\t') || c == '\u{fffd}'
}

/// The fields of a CSV line, trimmed and without quotes (RFC 4180, on one line).
pub fn fields(line: Line<'_>) -> Result<Vec<String>, ParseError> {
    let mut fields = Vec::new();
    let mut rest = line.text;
    loop {
        let (field, after) = field(rest).ok_or_else(|| {
            let hint = "close the quotation mark, or double it if it is part of the text";
            let column = fields.len() + 1;
            ParseError::new(line.number, "unclosed quotation mark", hint).at(column)
        })?;
        fields.push(field);
        match after {
            Some(after) => rest = after,
            None => return Ok(fields),
        }
    }
}

/// One field, and the rest after its comma.
fn field(text: &str) -> Option<(String, Option<&str>)> {
    let Some(quoted) = text.trim_start().strip_prefix('"') else {
        let (field, after) = match text.split_once(',') {
            Some((field, after)) => (field, Some(after)),
            None => (text, None),
        };
        return Some((field.trim().to_owned(), after));
    };
    let mut field = String::new();
    let mut rest = quoted;
    loop {
        let (inside, after) = rest.split_once('"')?;
        field.push_str(inside);
        // A doubled quotation mark is one in the text.
        if let Some(more) = after.strip_prefix('"') {
            field.push('"');
            rest = more;
            continue;
        }
        let after = after.trim_start();
        return match after.strip_prefix(',') {
            Some(next) => Some((field, Some(next))),
            None => after.is_empty().then_some((field, None)),
        };
    }
}

/// Maximum number of characters of a foreign file in a message.
const QUOTE_MAX: usize = 40;

/// Quotes a piece of the text for a message.
pub fn quote(text: &str) -> String {
    if text.chars().count() <= QUOTE_MAX {
        return format!("`{text}`");
    }
    let start: String = text.chars().take(QUOTE_MAX).collect();
    format!("`{start}...`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_split_at_commas_outside_quotes() {
        let check = |text, expected: &[&str]| {
            assert_eq!(fields(Line { number: 1, text }).unwrap(), expected, "{text}");
        };
        check("1,ide,75.1", &["1", "ide", "75.1"]);
        check(" 1 , ide ,75.1 ", &["1", "ide", "75.1"]);
        check("\"1\",\"ide, old\",75.1", &["1", "ide, old", "75.1"]);
        check("\"say \"\"ide\"\"\",x", &["say \"ide\"", "x"]);
        check("a,,", &["a", "", ""]);
    }

    #[test]
    fn broken_text_is_named_with_its_place() {
        let check = |text: &str, expected: &str| {
            let split = lines(text).and_then(|mut all| all.try_for_each(|l| fields(l).map(drop)));
            let error = split.unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check("a,b\nc,\"d", "line 2, column 2: unclosed quotation");
        check("a,b\n\0\u{1}", "line 2: this is binary");
        check("PK\u{3}\u{4}", "line 1: this is binary");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String) {
            if let Ok(lines) = lines(&text) {
                for line in lines {
                    let _ = fields(line);
                }
            }
        }
    }
}
