//! Every guard that `docs/internals/what-could-mislead.md` names is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("the crate lies in crates/").to_owned()
}

/// The text of every file below `folder` whose name ends so.
fn texts(folder: &Path, ending: &str) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() && !entry.ends_with("target") {
            text.push_str(&texts(&entry, ending));
        } else if entry.to_string_lossy().ends_with(ending) {
            text.push_str(&fs::read_to_string(&entry).unwrap());
        }
    }
    text
}

/// What stands between backquotes in the last column of the tables.
fn guards(page: &str) -> Vec<String> {
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.trim_end_matches('|').rsplit('|').next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn every_guard_that_is_named_exists() {
    let root = root();
    let page = fs::read_to_string(root.join("docs/internals/what-could-mislead.md")).unwrap();
    let code = texts(&root.join("crates"), ".rs");
    let tests: BTreeSet<&str> = code
        .split("#[test]")
        .skip(1)
        .filter_map(|after| after.split_once("fn ")?.1.split_once('('))
        .map(|(name, _)| name)
        .collect();
    let rig = texts(&root.join("scripts/torture.d/attacks"), ".py");
    let exists = |guard: &String| match guard.strip_prefix("torture ") {
        Some(attack) => rig.contains(&format!("name = \"{attack}\"")),
        None if guard.starts_with("scripts/") => root.join(guard).is_file(),
        None => tests.contains(guard.as_str()),
    };
    let named = guards(&page);
    assert!(named.len() > 80, "the tables are read: {named:?}");
    let missing: Vec<&String> = named.iter().filter(|guard| !exists(guard)).collect();
    assert!(missing.is_empty(), "no such test or attack: {missing:?}");
}
