//! The transcripts in the documentation are run, and must show what they show.
//!
//! In a block fenced as `console`, a line `$ COMMAND` is run by a shell in a folder of the file's
//! own; it must end with exit code 0, and the lines below must be its output. A line `...` stands for any number of lines, and
//! `[..]` for any text within one: figures that depend on the machine are written so.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{PROGRAM, folder, said, starter};

/// One command and what it must print.
struct Step {
    line: usize,
    command: String,
    expected: Vec<String>,
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for (line, content) in (1..).zip(text.lines()) {
        if content.starts_with("```") {
            inside = content == "```console";
        } else if let (true, Some(command)) = (inside, content.strip_prefix("$ ")) {
            let command = command.to_owned();
            steps.push(Step { line, command, expected: Vec::new() });
        } else if let (true, Some(step)) = (inside, steps.last_mut()) {
            step.expected.push(content.trim_end().to_owned());
        }
    }
    steps
}

/// Whether `line` is `pattern`, in which `[..]` stands for any text.
fn line_matches(pattern: &str, line: &str) -> bool {
    let Some((before, after)) = pattern.split_once("[..]") else { return pattern == line };
    let Some(rest) = line.strip_prefix(before) else { return false };
    (0..=rest.len()).any(|skip| rest.is_char_boundary(skip) && line_matches(after, &rest[skip..]))
}

/// Whether `lines` are those of `patterns`, in which `...` stands for any lines.
fn matches(patterns: &[String], lines: &[&str]) -> bool {
    match patterns.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=lines.len()).any(|skip| matches(rest, &lines[skip..]))
        }
        Some((first, rest)) => lines
            .split_first()
            .is_some_and(|(line, others)| line_matches(first, line) && matches(rest, others)),
    }
}

fn run(step: &Step, cwd: &Path) -> Result<(), String> {
    let program = Path::new(PROGRAM);
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", program.parent().expect("a file has a folder").display());
    let mut shell = starter(cwd, "sh");
    shell.args(["-c", &step.command]).env("PATH", path);
    let said = said(shell.output().expect("a shell"));
    let lines: Vec<&str> = said.out.lines().map(str::trim_end).collect();
    let expected = step.expected.strip_suffix(&[String::new()]).unwrap_or(&step.expected);
    if said.code == 0 && matches(expected, &lines) {
        return Ok(());
    }
    Err(format!(
        "line {}: $ {}\nexpected:\n{}\nprinted (exit code {}):\n{}\n{}",
        step.line,
        step.command,
        expected.join("\n"),
        said.code,
        said.out,
        said.err
    ))
}

fn markdown(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            markdown(&entry, found);
        } else if entry.extension().is_some_and(|ending| ending == "md") {
            found.push(entry);
        }
    }
}

#[test]
fn documentation_shows_what_happens() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md")];
    markdown(&root.join("docs"), &mut files);
    let (mut count, mut wrong) = (0, Vec::new());
    for file in files {
        let cwd = folder();
        for step in steps(&fs::read_to_string(&file).unwrap()) {
            count += 1;
            if let Err(difference) = run(&step, cwd.path()) {
                wrong.push(format!("{} {difference}", file.display()));
            }
        }
    }
    assert!(count > 0, "the documentation holds no transcript");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn patterns_match_what_they_should() {
    let check = |pattern: &[&str], text: &[&str], expected| {
        let pattern: Vec<String> = pattern.iter().map(|line| (*line).to_owned()).collect();
        assert_eq!(matches(&pattern, text), expected, "{pattern:?} {text:?}");
    };
    check(&["a", "...", "z"], &["a", "b", "c", "z"], true);
    check(&["a", "...", "z"], &["a", "z", "c"], false);
    check(&["x [..] ms"], &["x 4.2 ms"], true);
    check(&["x [..] ms"], &["x 4.2 us"], false);
}
