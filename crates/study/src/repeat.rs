//! The command that repeats a study, as a shell takes it.

use std::borrow::Cow;
use std::path::Path;

use drivelab_core::units::Bytes;

use crate::file::StudyFile;
use crate::folder::Asked;

/// What is typed to repeat a study: `drivelab study NAME` and every option that matters.
///
/// No folder is among it: the one that this study was kept in is not written again, so the
/// results of the next go to a folder of their own.
pub fn words(study: &StudyFile, asked: &Asked, size: Option<Bytes>) -> Vec<String> {
    let mut words: Vec<String> = vec!["drivelab".into(), "study".into(), asked.study.clone()];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    option("--stage", study.stage.to_string());
    option("--blocks", study.blocks.to_string());
    if let Some(specimens) = asked.specimens {
        option("--specimens", specimens.to_string());
    }
    option("--seed", study.seed.to_string());
    if let Some(drive) = &asked.drive {
        option("--drive", drive.clone());
    }
    if let Some(target) = &asked.target {
        option("--target", target.clone());
    }
    if !asked.only.is_empty() {
        option("--only", asked.only.join(","));
    }
    if let Some(size) = size {
        option("--size", size.to_string());
    }
    if asked.overwrite {
        words.push("--overwrite".into());
    }
    words
}

/// One line of a POSIX shell from its words.
pub fn command(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''")).into()
}

/// The name that a study's results go under.
pub fn stem(name: &str) -> String {
    let stem = Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    stem.unwrap_or_else(|| "study".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_words_back() {
        let check = |word: &str, expected: &str| assert_eq!(quoted(word), expected);
        check("drive:a,b=1", "drive:a,b=1");
        check("my study.toml", "'my study.toml'");
        check("it's", "'it'\\''s'");
        check("$HOME", "'$HOME'");
        check("~/x", "'~/x'");
        check("", "''");
    }
}
