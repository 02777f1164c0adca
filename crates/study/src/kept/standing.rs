//! How far a study is, as another process sees it: the results folder is read, not locked.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use drivelab_core::Refusal;

use crate::agenda::Agenda;
use crate::effort::Effort;
use crate::file::Vocabulary;
use crate::keep::{AtPath as _, read};
use crate::kept::{Frame, KeptStudy, beginning};

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
        let is_there = |name: &str| folder.join(name).symlink_metadata().is_ok();
        if !is_there("plan.json") || !is_there("study.toml") {
            return Ok(None);
        }
        let (header, text) = beginning(folder)?;
        let kept = KeptStudy::new(text, header, Frame::default(), Vec::new());
        let study = kept.study(vocabulary)?;
        let agenda = Agenda::new(&study, &kept.header.plan);
        let (lines, is_locked) = journal(&folder.join("runs.jsonl"), locks, &kept)?;
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

/// The finished lines of a journal that belong to the study, and whether a process has locked it.
fn journal(path: &Path, locks: &str, kept: &KeptStudy) -> Result<(usize, bool), Refusal> {
    let Some(file) = read::open(path, read::JOURNAL)? else { return Ok((0, false)) };
    let inode = format!(":{}", file.metadata().at_path("read", path)?.ino());
    let is_its = |line: &&str| {
        let mut words = line.split_whitespace();
        words.nth(1) == Some("FLOCK") && words.any(|word| word.ends_with(&inode))
    };
    let is_locked = locks.lines().any(|line| is_its(&line));
    let owner = kept.header.owner(&kept.text);
    let mut reader = BufReader::new(file.take(read::JOURNAL.get()));
    let (mut line, mut lines) = (Vec::new(), 0);
    while reader.read_until(b'\n', &mut line).at_path("read", path)? > 0 {
        let whole = line.strip_suffix(b"\n").is_some_and(|line| kept.header.holds(&owner, line));
        lines += usize::from(whole);
        line.clear();
    }
    Ok((lines, is_locked))
}
