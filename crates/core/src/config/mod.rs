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

/// An error in a file: its position, and the text to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct ConfigError {
    /// The file as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The error.
    pub message: String,
    /// The suggested correction.
    pub hint: Option<String>,
}

/// A TOML document without comments, its keys sorted and its values spelled in one way;
/// unchanged if it cannot be parsed.
pub fn canonical(text: &str) -> String {
    let table: Option<toml::Table> = text.parse().ok();
    let canonical = table.and_then(|table| toml::to_string(&table).ok());
    canonical.unwrap_or_else(|| text.to_owned())
}

/// The candidate that `word` was probably meant to be, if any is similar enough.
///
/// Similar enough is one typing error (`rmp` for `rpm`), or a Jaro-Winkler similarity above 0.8,
/// found by trying common errors in longer words (`iodpeth`, `drives`): below that the suggestions
/// confuse more than they help. Failing that, the only candidate that contains the word is meant,
/// in capitals or not: a drive's model is found by its number alone. A number is a value and not a
/// slip of another one.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A number that is not accepted was meant as it is: 31 is no slip of 32.
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let lower = word.to_lowercase();
    let mut best: Option<(&str, f64)> = None;
    let mut containing = Vec::new();
    for candidate in candidates {
        if lower.len() >= PART_MIN && candidate.to_lowercase().contains(&lower) {
            containing.push(candidate);
        }
        // Words of two letters are one error away from too many others.
        let slip = word.len() > 2 && strsim::osa_distance(word, candidate) == 1;
        let similarity = strsim::jaro_winkler(word, candidate).max(if slip { 0.9 } else { 0.0 });
        if similarity > 0.8 && best.is_none_or(|(_, highest)| similarity > highest) {
            best = Some((candidate, similarity));
        }
    }
    match (best, &containing[..]) {
        (Some((candidate, _)), _) => Some(candidate),
        (None, [only]) => Some(only),
        (None, _) => None,
    }
}

/// Shorter parts of a name are in too many other words.
const PART_MIN: usize = 4;

#[cfg(test)]
mod tests {
    use super::{canonical, nearest};

    #[test]
    fn only_what_a_document_says_is_canonical() {
        let one = "# a\nb = 1\na = \"x\"\n[drive]\nrpm = 7_200 # fast\n";
        let other = "a = 'x'\nb=1\n\n[drive]\n  rpm = 7200\n";
        assert_eq!(canonical(one), canonical(other));
        assert_ne!(canonical(one), canonical(&other.replace("7200", "5400")));
    }

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
        check("AVERAGE", Some("seek_average"));
        check("10", None);
        check("time", Some("runtime"));
        check("ime", None);
        check("colour", None);
        check("", None);
    }
}
