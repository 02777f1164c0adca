//! The results folder: finished runs are kept as they finish, and a later session goes on there.
//!
//! `study.toml` is the study as it was started, `plan.json` what is to be done and on what,
//! `runs.jsonl` one finished run a line. A line that was cut short by a crash is dropped.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use drivelab_core::plan::{Plan, Step};
use drivelab_core::record::RunRecord;
use serde::{Deserialize, Serialize};

use crate::failure::{AtPath as _, Failure};
use crate::interrupt;

/// One finished run and its place in the experiment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredRun {
    pub(crate) step: Step,
    /// What was run.
    pub(crate) task: Task,
    pub(crate) record: RunRecord,
}

/// What one run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Task {
    /// The workload at this place.
    Workload(usize),
    /// The point of the depth curve at this place.
    Curve(usize),
}

/// What a results folder belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Version of this layout.
    pub(crate) schema: String,
    /// What is measured: two targets are the same when this text is.
    pub(crate) target: String,
    pub(crate) stage: String,
    pub(crate) seed: u64,
    pub(crate) plan: Plan,
}

/// The layout that this version writes.
pub(crate) const PLAN_SCHEMA: &str = "drivelab.plan/1";

/// An open results folder.
#[derive(Debug)]
pub(crate) struct Out {
    folder: PathBuf,
    runs: File,
    /// Runs that were finished before.
    pub(crate) done: Vec<StoredRun>,
}

impl Out {
    /// Begins anew in `folder`; what a finished or simulated study left there is replaced.
    ///
    /// An unfinished measurement of hardware is not: its runs cost somebody hours.
    pub(crate) fn create(folder: &Path, study: &str, header: &Header) -> Result<Self, Failure> {
        if let Some((kept, runs)) = unfinished(folder) {
            let message = format!(
                "`{}` holds an unfinished study of `{}` with {runs} finished runs",
                folder.display(),
                kept.target
            );
            return Err(Failure::bad_words(message)
                .hint("add --resume to go on with it")
                .hint("or choose another folder with --out DIR"));
        }
        fs::create_dir_all(folder).at_path("create", folder)?;
        write(&folder.join("study.toml"), study.as_bytes())?;
        let path = folder.join("runs.jsonl");
        let runs = File::create(&path).at_path("create", &path)?;
        // The plan comes last: with it the folder counts as begun.
        let plan = serde_json::to_vec_pretty(header).expect("plain data is always JSON");
        write(&folder.join("plan.json"), &plan)?;
        Ok(Self { folder: folder.to_owned(), runs, done: Vec::new() })
    }

    /// Goes on in `folder`, where the same study on the same target was begun.
    pub(crate) fn resume(folder: &Path, study: &str, header: &Header) -> Result<Self, Failure> {
        let path = folder.join("plan.json");
        let text = fs::read_to_string(&path).at_path("read", &path).map_err(|failure| {
            failure.hint("there is nothing to resume here: leave --resume out to begin")
        })?;
        let kept: Header = serde_json::from_str(&text).map_err(|error| {
            Failure::bad_request(error).hint(format!("`{}` is damaged", path.display()))
        })?;
        refuse_if_other(folder, study, &kept, header)?;
        let (done, length) = finished(&folder.join("runs.jsonl"))?;
        let path = folder.join("runs.jsonl");
        let mut runs = OpenOptions::new().write(true).open(&path).at_path("open", &path)?;
        // A line that a crash cut short is overwritten by the next run.
        runs.set_len(length).at_path("shorten", &path)?;
        std::io::Seek::seek(&mut runs, std::io::SeekFrom::End(0)).at_path("append to", &path)?;
        Ok(Self { folder: folder.to_owned(), runs, done })
    }

    /// Keeps a finished run.
    pub(crate) fn keep(&mut self, run: &StoredRun) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(run).expect("plain data is always JSON");
        line.push(b'\n');
        let _whole = interrupt::shield();
        self.runs.write_all(&line).at_path("append a run to", &self.folder.join("runs.jsonl"))
    }

    /// Writes a result into the folder and returns its path.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<PathBuf, Failure> {
        let path = self.folder.join(name);
        write(&path, content.as_bytes())?;
        Ok(path)
    }
}

/// Writes beside and renames, so that a full disk leaves the old file as it was.
fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let beside = path.with_extension("partial");
    let written = fs::write(&beside, content).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written.at_path("write", path)
}

/// The header of a hardware study in `folder` that has runs left to do, and how many it has done.
fn unfinished(folder: &Path) -> Option<(Header, usize)> {
    let text = fs::read_to_string(folder.join("plan.json")).ok()?;
    let header: Header = serde_json::from_str(&text).ok()?;
    let finished = folder.join("result.json").exists();
    if finished || header.stage != "hardware" {
        return None;
    }
    let (done, _) = finished_runs(folder).ok()?;
    (!done.is_empty()).then_some((header, done.len()))
}

fn finished_runs(folder: &Path) -> Result<(Vec<StoredRun>, u64), Failure> {
    finished(&folder.join("runs.jsonl"))
}

/// Every complete line of `path`, and the bytes they take.
fn finished(path: &Path) -> Result<(Vec<StoredRun>, u64), Failure> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        file => file.at_path("read", path)?,
    };
    let (mut runs, mut length) = (Vec::new(), 0);
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).at_path("read", path)? > 0 {
        let Some(complete) = line.strip_suffix(b"\n") else { break };
        let Ok(run) = serde_json::from_slice(complete) else { break };
        runs.push(run);
        length += line.len() as u64;
        line.clear();
    }
    Ok((runs, length))
}

fn refuse_if_other(
    folder: &Path,
    study: &str,
    kept: &Header,
    header: &Header,
) -> Result<(), Failure> {
    let refuse = |what: &str| {
        let folder = folder.display();
        let failure = Failure::bad_words(format!("`{folder}` was begun with {what}"));
        Err(failure.hint("runs of the two cannot be compared; choose another folder with --out"))
    };
    let path = folder.join("study.toml");
    if fs::read_to_string(&path).at_path("read", &path)? != study {
        return refuse("another study file");
    }
    if kept.target != header.target {
        return refuse(&format!("another target (`{}`, now `{}`)", kept.target, header.target));
    }
    if kept != header {
        return refuse("other blocks, seed or stage");
    }
    Ok(())
}
