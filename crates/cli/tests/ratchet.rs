//! Habits of language that make readers stop: their counts may only fall.
//!
//! A count that fell is a new limit: lower it here, so that it does not rise again.

use regex_lite::Regex;

use crate::tidy::{files, read, root};

/// The part of a line that a pattern is looked for in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    All,
    Comment,
}

/// A habit: its name, its pattern, and how many lines of product code may have it.
const HABITS: &[(&str, &str, Scope, usize)] = &[
    ("place", r"\bplaces?\b|_place\b|\bplace_|Place\b", Scope::All, PLACES_MAX),
    ("told", r"\btold\b|\btells?\b", Scope::Comment, 2),
    (
        "nobody, whatever, beside",
        r"\b(nobody|somebody|whoever|whatever|beside|anew|so many|as it were)\b",
        Scope::Comment,
        7,
    ),
    ("that is there", r"\b(that|what|which) (is|are|was|were) there\b", Scope::Comment, 3),
    ("of its own", r"\bof (its|their|our) own\b", Scope::Comment, 6),
    (
        "documentation that opens with a question word",
        r"^\s*//[/!] (What|Whether|How|Who|Where|When|Which)\b",
        Scope::All,
        49,
    ),
    ("named closure", r"^\s*let (mut )?\w+ = (move )?\|", Scope::All, 244),
    ("opening word", r"^\s*//[/!] (One that|Something|Those|That|Such)\b", Scope::All, 1),
];

/// Lines with `place`: a slot, an index, a position or a path has its own word.
const PLACES_MAX: usize = 64;
/// Variables that hide the function that made them.
const HIDDEN_FUNCTIONS_MAX: usize = 30;
/// Comments that say why, for each 1,000 lines of product code, at least.
const COMMENTS_PER_1000: usize = 20;
/// Asserted invariants, for each 1,000 functions, at least.
const ASSERTS_PER_1000: usize = 80;

/// The lines of product code: without tests.
fn product() -> Vec<String> {
    let is_test = |path: &std::path::Path| {
        let folders = ["tests", "benches", "snapshots"];
        path.components().any(|part| folders.iter().any(|name| part.as_os_str() == *name))
            || path.file_name().is_some_and(|name| name == "tests.rs")
    };
    let mut lines = Vec::new();
    for path in files(&root().join("crates"), &[".rs"]) {
        if !is_test(path.strip_prefix(root()).unwrap()) {
            let text = read(&path);
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            lines.extend(code.lines().map(str::to_owned));
        }
    }
    lines
}

fn comment(line: &str) -> &str {
    line.find("//").map_or("", |at| &line[at..])
}

#[test]
fn habits_that_make_readers_stop_only_fall() {
    let lines = product();
    let mut offenders = Vec::new();
    for (name, pattern, scope, max) in HABITS {
        let pattern = Regex::new(pattern).unwrap();
        let part = |line: &str| match scope {
            Scope::All => pattern.is_match(line),
            Scope::Comment => pattern.is_match(comment(line)),
        };
        let count = lines.iter().filter(|line| part(line)).count();
        if count > *max {
            offenders.push(format!("{name}: {count} lines, at most {max}"));
        }
    }
    let hidden = lines.iter().filter(|line| hides_a_function(line)).count();
    if hidden > HIDDEN_FUNCTIONS_MAX {
        offenders.push(format!("`let f = f(..)`: {hidden}, at most {HIDDEN_FUNCTIONS_MAX}"));
    }
    assert!(offenders.is_empty(), "{}", offenders.join("\n"));
}

/// A line like `let area = area(..)` or `let area = self.area(..)`.
fn hides_a_function(line: &str) -> bool {
    let Some((name, value)) =
        line.trim_start().strip_prefix("let ").and_then(|it| it.split_once(" = "))
    else {
        return false;
    };
    let value = value.strip_prefix("self.").unwrap_or(value);
    value.strip_prefix(name).is_some_and(|rest| rest.starts_with('('))
}

#[test]
fn reasons_and_invariants_are_written_down() {
    let lines = product();
    let comments = lines.iter().map(|line| line.trim_start());
    let comments = comments
        .filter(|line| {
            line.starts_with("//") && !["/", "!"].iter().any(|c| line[2..].starts_with(c))
        })
        .count();
    let assert = Regex::new(r"\b(debug_)?assert(_eq|_ne)?!\(").unwrap();
    let asserts = lines.iter().filter(|line| assert.is_match(line)).count();
    let function = Regex::new(r"^\s*(pub(\([a-z: ]+\))? )?(const |async |unsafe )*fn ").unwrap();
    let functions = lines.iter().filter(|line| function.is_match(line)).count();
    let enough_comments = comments * 1_000 >= lines.len() * COMMENTS_PER_1000;
    assert!(enough_comments, "{comments} comments in {} lines", lines.len());
    let enough_asserts = asserts * 1_000 >= functions * ASSERTS_PER_1000;
    assert!(enough_asserts, "{asserts} asserts in {functions} functions");
}
