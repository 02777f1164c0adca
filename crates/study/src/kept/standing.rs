//! How far a study is, as another process sees it: the results folder is read, not locked.

use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use drivelab_core::Refusal;

use crate::agenda::Agenda;
use crate::effort::Effort;
use crate::file::Vocabulary;
use crate::keep::AtPath as _;
use crate::kept::{FolderText, KeptStudy};

/// How far a study is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its title.
    pub title: String,
    /// The stage.
    pub stage: String,
    /// Runs that are finished.
    pub done: usize,
    /// Runs of the plan.
    pub all: usize,
    /// What happens to it.
    pub state: State,
    /// What is left of it; `None` in virtual time and where its time is unknown.
    pub left: Option<Effort>,
}

/// What happens to a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// A process works on it.
    Running,
    /// It has a result.
    Finished,
    /// Neither: `--resume` continues it.
    Stopped,
}

impl Standing {
    /// How far the study in `folder` is; `None` where none was begun. `locks` is the content of
    /// `/proc/locks`.
    ///
    /// # Errors
    /// Files that cannot be read, or are not those of a study.
    pub fn of(
        folder: &Path,
        locks: &str,
        vocabulary: &dyn Vocabulary,
    ) -> Result<Option<Self>, Refusal> {
        let text = |name: &str| match fs::read_to_string(folder.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            text => text.at_path("read", &folder.join(name)).map(Some),
        };
        let (Some(plan), Some(study)) = (text("plan.json")?, text("study.toml")?) else {
            return Ok(None);
        };
        let path = folder.join("runs.jsonl");
        let (lines, is_locked) = journal(&path, locks).at_path("read", &path)?;
        let files = FolderText { study: &study, plan: &plan, journal: "", result: None };
        let kept = KeptStudy::of_folder(files, vocabulary)?;
        let study = kept.study(vocabulary)?;
        let agenda = Agenda::new(&study, &kept.header.plan);
        let (all, done) = (agenda.count(), lines.min(agenda.count()));
        let state = match (is_locked, folder.join("result.json").exists()) {
            (true, _) => State::Running,
            (false, true) => State::Finished,
            (false, false) => State::Stopped,
        };
        let left = (!study.stage.is_virtual()).then(|| Effort::after(&study, &agenda, done));
        Ok(Some(Self {
            title: study.title.clone(),
            stage: kept.header.stage,
            done,
            all,
            state,
            left: left.flatten(),
        }))
    }
}

/// The finished lines of a journal, and whether a process has locked it.
fn journal(path: &Path, locks: &str) -> std::io::Result<(usize, bool)> {
    let file = fs::File::open(path)?;
    let inode = format!(":{}", file.metadata()?.ino());
    let is_its = |line: &&str| {
        let mut words = line.split_whitespace();
        words.nth(1) == Some("FLOCK") && words.any(|word| word.ends_with(&inode))
    };
    let is_locked = locks.lines().any(|line| is_its(&line));
    let (mut reader, mut line, mut lines) = (BufReader::new(file), Vec::new(), 0);
    while reader.read_until(b'\n', &mut line)? > 0 {
        lines += usize::from(line.ends_with(b"\n"));
        line.clear();
    }
    Ok((lines, is_locked))
}
