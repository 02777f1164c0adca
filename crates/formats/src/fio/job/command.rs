//! Command lines of fio: as arguments of a process, or as found in guides.

mod program;
mod words;

pub use program::{Eta, OutputFormat, Program};

use drivelab_core::Refusal;

use self::words::{begins, call_of};
use super::line::{Item, Line};
use super::option::is_flag;
use super::problem::{At, Problem};

/// The name of a command line where a file would be named.
pub const COMMAND_LINE: &str = "the command line";

/// One call of fio.
#[derive(Debug, Default)]
pub struct Call {
    /// Requests to the program itself.
    pub program: Program,
    /// The job files that it names.
    pub files: Vec<String>,
    pub(super) lines: Vec<Line>,
    pub(super) problems: Vec<Problem>,
}

impl Call {
    /// Reads the arguments of a process, without the program's name.
    pub fn of_arguments<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let first = At { file: COMMAND_LINE.into(), line: 1 };
        let words = (1..).zip(words);
        let words = words.map(|(number, word)| (first.on(number), word.to_owned())).collect();
        Self::of(first, words)
    }

    fn of(at: At, words: Vec<(At, String)>) -> Self {
        let mut call = Self::default();
        call.lines.push(Line { at, item: Item::Section("global".to_owned()) });
        let mut words = words.into_iter().peekable();
        while let Some((at, word)) = words.next() {
            let Some(option) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
                call.files.push(word);
                continue;
            };
            let option = option.trim_start_matches('-');
            let (key, mut value) = match option.split_once('=') {
                Some((key, value)) => (key, Some(value.to_owned())),
                None => (option, None),
            };
            // `--name value`: fio accepts a blank for the equals sign, except behind a flag.
            if value.is_none() && !is_flag(key) && !program::is_flag(key) {
                value = words.next_if(|(_, next)| !next.starts_with('-')).map(|next| next.1);
            }
            call.option(&at, key, value);
        }
        call
    }

    fn option(&mut self, at: &At, key: &str, value: Option<String>) {
        let item = match (key, value) {
            ("name", Some(name)) => Item::Named(name),
            (key, value) => match self.program.set(key, value.as_deref()) {
                Some(Ok(())) => return,
                Some(Err(refusal)) => return self.problems.push(at.problem(refusal)),
                None => Item::option(key, value.as_deref().unwrap_or_default()),
            },
        };
        self.lines.push(Line { at: at.clone(), item });
    }
}

/// The calls in `text`, as guides and terminals show them; `None` if it is a job file.
pub(super) fn calls(file: &str, text: &str) -> Option<Vec<Call>> {
    let first_at = At { file: file.into(), line: 1 };
    let lines = (1..).zip(text.lines().map(str::trim));
    let mut lines = lines
        .filter(|(_, line)| !line.is_empty() && (begins(line) || !line.starts_with(['#', ';'])));
    let (number, first) = lines.next()?;
    if !begins(first) {
        return None;
    }
    let mut calls: Vec<(At, Vec<(At, String)>)> = Vec::new();
    let mut problems = Vec::new();
    let mut is_continued = false;
    for (number, line) in std::iter::once((number, first)).chain(lines) {
        // A backslash at the end joins lines, as in the shell that guides are written for.
        let joined = line.strip_suffix('\\');
        let text = joined.unwrap_or(line);
        if begins(text) && !is_continued {
            calls.push((first_at.on(number), Vec::new()));
        }
        is_continued = joined.is_some();
        match words::split(text) {
            Ok(words) => {
                let (_, call) = calls.last_mut().expect("the first line begins one");
                call.extend(words.into_iter().map(|word| (first_at.on(number), word)));
            }
            Err(refusal) => problems.push(first_at.on(number).problem(refusal)),
        }
    }
    let mut calls: Vec<Call> = calls
        .into_iter()
        .map(|(at, words)| {
            let mut call = Call::of(at.clone(), call_of(words));
            if let Some(file) = call.files.first() {
                let refusal = unexpected(file);
                call.problems.push(at.problem(refusal));
            }
            call
        })
        .collect();
    calls[0].problems.extend(problems);
    Some(calls)
}

fn unexpected(word: &str) -> Refusal {
    Refusal::request(format!("unexpected word `{word}` in the command line")).hint(format!(
        "run a job file alone: drivelab run --job {word}, or all of it: drivelab fio ... {word}"
    ))
}
