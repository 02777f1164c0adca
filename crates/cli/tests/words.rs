//! Words: what the documents answer is true, and users read the terms of the style.

use std::fs;
use std::path::{Path, PathBuf};

use crate::tidy::{check, files, read, root};

/// The rows of the first table below `heading`, each cell trimmed.
fn table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let below = text.split(heading).nth(1).expect("the heading is there");
    let rows = below.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    let cells = |row: &str| row.trim_matches('|').split(" | ").map(|c| c.trim().into()).collect();
    rows.map(cells).collect()
}

#[test]
fn the_answers_to_a_new_maintainer_are_true() {
    let questions = table(&read(&root().join("docs/internals/twenty-questions.md")), "# Twenty");
    assert_eq!(questions.len(), 20);
    let mut offenders = Vec::new();
    for row in questions {
        let [question, file, item] = &row[..] else { panic!("{row:?} is no question") };
        let path = root().join(file.trim_matches('`'));
        let item = item.trim_matches('`');
        let text = fs::read_to_string(&path).unwrap_or_default();
        let kinds = ["fn ", "struct ", "enum ", "macro_rules! "];
        if !kinds.iter().any(|kind| text.contains(&format!("{kind}{item}"))) {
            offenders.push(format!("{question} {} has no `{item}`", path.display()));
        }
    }
    check("each item of the twenty questions is in its file", &offenders);
}

/// Whether `text` contains `phrase` as whole words, in any case.
fn says(text: &str, phrase: &str) -> bool {
    let text = text.to_lowercase();
    let outside = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    text.match_indices(phrase).any(|(at, found)| {
        let (before, after) = (&text[..at], &text[at + found.len()..]);
        outside(before.chars().next_back()) && outside(after.chars().next())
    })
}

/// What users read of a source file: its string literals, line by line.
fn literals(path: &Path) -> String {
    let text = read(path);
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
    let literal = |line: &str| {
        let line = line.trim_start();
        // A line inside a literal has no quotation mark of its own.
        !line.starts_with("//") && (line.contains('"') || line.ends_with('\\'))
    };
    let lines = code.lines().map(|line| if literal(line) { line } else { "" });
    lines.collect::<Vec<_>>().join("\n")
}

/// The help of the program and of every verb, as it is printed.
fn help() -> Vec<(String, String)> {
    let folder = crate::common::folder();
    let shown = |verb: &str| {
        let words: Vec<&str> =
            verb.split(' ').filter(|w| !w.is_empty()).chain(["--help"]).collect();
        (format!("drivelab {verb} --help"), crate::common::drivelab(folder.path(), &words).out)
    };
    let verbs = "|study|run|compare|inspect|drive|drive list|drive show|drive fit|drive measure|\
                 drive predict|replay|serve|durability|sweep|fleet|fleet collect|fleet outliers|completions|man";
    verbs.split('|').map(shown).collect()
}

#[test]
fn words_are_those_of_the_style() {
    let avoided = table(&read(&root().join("STYLE.md")), "## English");
    let avoided: Vec<&str> = avoided.iter().flat_map(|row| row[0].split(", ")).collect();
    assert!(avoided.len() > 15, "{avoided:?}");
    let mut sources = files(&root().join("docs"), &[".md"]);
    sources.extend(files(&root().join("studies"), &[".toml"]));
    sources.push(root().join("README.md"));
    let code = files(&root().join("crates"), &[".rs"]);
    let product = |path: &PathBuf| {
        let path = path.to_string_lossy();
        !path.contains("/tests") && !path.ends_with("tests.rs") && path.contains("/src/")
    };
    sources.extend(code.into_iter().filter(product));
    let mut texts = help();
    for path in sources {
        let is_code = path.extension().is_some_and(|ending| ending == "rs");
        let text = if is_code { literals(&path) } else { read(&path) };
        texts.push((path.display().to_string(), text));
    }
    let mut offenders = Vec::new();
    for (name, text) in texts {
        for (number, line) in (1..).zip(text.lines()) {
            for phrase in avoided.iter().filter(|phrase| says(line, phrase)) {
                offenders.push(format!("{name}:{number}: {phrase}: {line}"));
            }
        }
    }
    check("STYLE.md names what to write instead", &offenders);
}
