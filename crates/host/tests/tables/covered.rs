//! Every mistake that was found on real machines has a test: the table says which.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const TABLE: &str = include_str!("covered.tsv");
const TREES: &str = include_str!("real-hosts.tsv");
const LOGS: &str = include_str!("logs.txt");

/// The names of test functions below a folder.
fn tests_below(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            tests_below(&path, names);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            for (at, _) in text.match_indices("#[test]") {
                let rest = &text[at..];
                let name = rest.split_once("fn ").and_then(|(_, rest)| rest.split_once('('));
                names.extend(name.map(|(name, _)| name.to_owned()));
            }
        }
    }
}

#[test]
fn each_number_has_something_that_shows_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut tests = BTreeSet::new();
    for part in ["host/src", "host/tests", "lab/src", "engine/src", "cli/tests"] {
        tests_below(&crates.join(part), &mut tests);
    }
    assert!(tests.len() > 500, "{} tests", tests.len());
    let mut numbers = Vec::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [number, about, shown] = fields[..] else { panic!("not a row: {line}") };
        assert!(!about.is_empty(), "{line}");
        numbers.push(number);
        for item in shown.split(", ") {
            let (kind, name) = item.split_once(' ').unwrap_or_else(|| panic!("{number}: {item}"));
            let exists = match kind {
                "tree" => TREES.lines().any(|row| row.split('\t').next() == Some(name)),
                "log" => LOGS.lines().any(|row| row.starts_with(&format!("== {name}"))),
                "test" => tests.contains(name),
                _ => false,
            };
            assert!(exists, "{number}: there is no {item}");
        }
    }
    let mistakes = (1..=22).map(|number| format!("X{number}"));
    let expected: Vec<String> = mistakes.chain((1..=16).map(|it| format!("M{it}"))).collect();
    assert_eq!(numbers, expected);
}
