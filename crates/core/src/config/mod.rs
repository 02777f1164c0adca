//! Reads study, profile and measurement files: typed values, and errors that name the line.
//!
//! A [`Section`] hands out its keys one by one and records which were requested. Any key left at
//! the end is unknown, and the most similar requested key is the suggestion. So the list of known
//! keys can never differ from the keys that are read.

mod choice;
mod section;
mod value;

pub use choice::Choice;
pub use section::{Row, Section, Stated};
pub use value::Value;

/// An error in a file: where it is, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct ConfigError {
    /// The file as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// The candidate that `word` was probably meant to be, if any is similar enough.
///
/// Similar enough is one typing error (`rmp` for `rpm`), or a Jaro-Winkler similarity above 0.8,
/// found by trying common errors in longer words (`iodpeth`, `drives`): below that the suggestions
/// confuse more than they help.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(&str, f64)> = None;
    for candidate in candidates {
        let slip = word.len() > 2 && strsim::osa_distance(word, candidate) == 1;
        let similarity = strsim::jaro_winkler(word, candidate).max(if slip { 0.9 } else { 0.0 });
        if similarity > 0.8 && best.is_none_or(|(_, highest)| similarity > highest) {
            best = Some((candidate, similarity));
        }
    }
    best.map(|(candidate, _)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_find_what_was_meant() {
        let check = |word, expected| {
            let known = ["rpm", "iodepth", "runtime", "rw", "seek_average"];
            assert_eq!(nearest(word, known), expected, "{word}");
        };
        check("rmp", Some("rpm"));
        check("iodpeth", Some("iodepth"));
        check("run_time", Some("runtime"));
        check("seek_avg", Some("seek_average"));
        check("colour", None);
        check("", None);
    }
}
