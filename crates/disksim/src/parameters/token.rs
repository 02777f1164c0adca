//! Splits a parameter file into words and signs.

/// A word or a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    /// One of `{ } [ ] = ,`.
    Sign(char),
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(word) => f.write_str(word),
            Self::Sign(sign) => sign.fmt(f),
        }
    }
}

const SIGNS: &[char] = &['{', '}', '[', ']', '=', ','];

/// The tokens of `text` with their lines, from 1; the rest of a line from `#` on is a comment.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = (usize, Token<'_>)> {
    (1..).zip(text.lines()).flat_map(|(line, content)| {
        let content = content.split('#').next().unwrap_or_default();
        words(content).map(move |token| (line, token))
    })
}

fn words(mut rest: &str) -> impl Iterator<Item = Token<'_>> {
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let length = match rest.find(|c: char| SIGNS.contains(&c) || c.is_whitespace()) {
            Some(0) => {
                rest = &rest[first.len_utf8()..];
                return Some(Token::Sign(first));
            }
            Some(length) => length,
            None => rest.len(),
        };
        let (word, after) = rest.split_at(length);
        rest = after;
        Some(Token::Word(word))
    })
}
