//! The progress of a study, as another process sees it: the results folder is read, not locked.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use drivelab_core::{Refusal, StageName};

use crate::agenda::Agenda;
use crate::effort::Effort;
use crate::file::Vocabulary;
use crate::keep::{AtPath as _, read};
use crate::kept::{KeptStudy, beginning};
use crate::stage::Frame;

/// The progress of a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its title.
    pub title: String,
    /// The stage.
    pub stage: StageName,
    /// Runs that are finished.
    pub done: usize,
    /// Runs of the plan.
    pub all: usize,
    /// Its state.
    pub state: State,
    /// The effort left; `None` in virtual time and where its time is unknown.
    pub left: Option<Effort>,
}

/// The state of a study.
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
    /// The progress of the study in `folder`; `None` where none was begun. `locks` is the content
    /// of
    /// `/proc/locks`.
    ///
    /// # Errors
    /// Files that cannot be read, or are not those of a study.
    pub fn of(
        folder: &Path,
        locks: &str,
        vocabulary: &dyn Vocabulary,
    ) -> Result<Option<Self>, Refusal> {
        let names = ["plan.json", "study.toml"];
        if !names.iter().all(|name| folder.join(name).symlink_metadata().is_ok()) {
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

/// The number of finished lines of a journal that belong to the study; true if a process has locked
/// it.
fn journal(path: &Path, locks: &str, kept: &KeptStudy) -> Result<(usize, bool), Refusal> {
    let Some(file) = read::open(path, read::JOURNAL)? else { return Ok((0, false)) };
    // `/proc/locks` has a file as MAJOR:MINOR:INODE (`man 5 proc_locks`).
    let inode = format!(":{}", file.metadata().at_path("read", path)?.ino());
    let is_locked = locks.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.nth(1) == Some("FLOCK") && words.any(|word| word.ends_with(&inode))
    });
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
