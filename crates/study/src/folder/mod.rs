//! The results folder: finished runs are kept as they finish, and a later session goes on there.
//!
//! `study.toml` is the study as it was started, `plan.json` its plan and target, `runs.jsonl` the
//! journal, one finished run a line; `output/` has the output of commands, a file for each index of
//! the plan. `entered.json` names the arm in force that must be undone. `result.json` marks a
//! finished study, whose files are never replaced.

mod entered;
mod header;
mod name;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use drivelab_core::Refusal;
use drivelab_core::plan::Design;
use drivelab_core::record::JobRecord;
use drivelab_core::units::Bytes;

pub(crate) use entered::InForce;
pub(crate) use header::PlanFile;
pub use header::{Header, PLAN_SCHEMA};
pub use name::{fresh, last, unused};

use crate::agenda::Agenda;
use crate::file::StudyFile;
use crate::keep::{self, Journal, KeptFolder, Line, Owner, Seal, read};
use crate::stage::{StoredRun, Task};
use drivelab_core::Control;
use drivelab_core::StageName;

/// An open results folder.
#[derive(Debug)]
pub struct Out {
    folder: KeptFolder,
    journal: Journal,
    owner: Owner,
    /// Finished runs by their index in the agenda.
    pub done: BTreeMap<usize, StoredRun>,
}

impl Out {
    /// Begins a new study in `folder`.
    ///
    /// A finished study is not replaced, nor an unfinished measurement of hardware: its runs took
    /// hours. An unfinished study in virtual time is: it can be made again.
    pub fn create(
        folder: &Path,
        study: &str,
        header: &Header,
        control: &Control<'_>,
    ) -> Result<Self, Refusal> {
        let kept = keep::make_folder(folder)?;
        // Locked first: what the checks below find must not change meanwhile.
        let mut journal = Journal::open(&kept, "runs.jsonl")?;
        refuse_finished(folder)?;
        entered::refuse(folder)?;
        refuse_unfinished(folder, &mut journal)?;
        // The plan is removed last and written last: a kill in between leaves no mixture of two
        // studies.
        journal.clear()?;
        for old in ["report.html", "plan.json"] {
            kept.remove(old)?;
        }
        kept.write("study.toml", study.as_bytes(), control)?;
        header.write(&kept, control)?;
        let owner = header.owner(study);
        Ok(Self { folder: kept, journal, owner, done: BTreeMap::new() })
    }

    /// Keeps finished runs, each with its index in the agenda: they are on the disk when this
    /// returns.
    pub fn keep(
        &mut self,
        runs: Vec<(usize, StoredRun)>,
        control: &Control<'_>,
    ) -> Result<(), Refusal> {
        let mut lines = Vec::with_capacity(runs.len());
        for (_, run) in &runs {
            let object = serde_json::to_string(run).expect("plain data is always JSON");
            lines.push(self.owner.seal(&object));
        }
        self.journal.append(&lines.join("\n"), control)?;
        // A study may have 100,000 runs, and they stay in memory until its end.
        self.done.extend(runs.into_iter().map(|(number, mut run)| {
            let record = &mut run.record;
            record.jobs.iter_mut().chain(&mut record.total).for_each(JobRecord::compact);
            (number, run)
        }));
        Ok(())
    }

    /// Keeps the output of the command of the run at this index of the agenda.
    pub fn keep_output(
        &self,
        index: usize,
        printed: &str,
        control: &Control<'_>,
    ) -> Result<(), Refusal> {
        let file = format!("run-{:04}.txt", index + 1);
        self.folder.folder("output")?.write(&file, printed.as_bytes(), control).map(drop)
    }

    /// Records what is about to be put in force, until [`Out::left`]: a later session undoes it
    /// where this one is killed.
    pub(crate) fn entering(&self, it: &InForce, control: &Control<'_>) -> Result<(), Refusal> {
        entered::keep(&self.folder, &self.owner, it, control)
    }

    /// Records that no arm is in force.
    pub(crate) fn left(&self) -> Result<(), Refusal> {
        entered::remove(&self.folder)
    }

    /// The arm that an earlier session entered and did not leave.
    pub(crate) fn entered(&self) -> Result<Option<InForce>, Refusal> {
        entered::read(self.folder.path(), &self.owner)
    }

    /// The file of that name.
    pub(crate) fn entered_path(&self) -> PathBuf {
        entered::path_in(self.folder.path())
    }

    /// Every finished run, in the order of the agenda, and the folder for the results.
    pub fn into_runs(self) -> (Folder, Vec<StoredRun>) {
        let folder = Folder { folder: self.folder, _journal: self.journal };
        (folder, self.done.into_values().collect())
    }
}

/// A results folder that takes results, still locked.
#[derive(Debug)]
pub struct Folder {
    folder: KeptFolder,
    _journal: Journal,
}

impl Folder {
    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a result into the folder and returns its path.
    pub fn write(
        &self,
        name: &str,
        content: &str,
        control: &Control<'_>,
    ) -> Result<PathBuf, Refusal> {
        self.folder.write(name, content.as_bytes(), control)
    }
}

/// A results folder in which a study was begun, locked.
#[derive(Debug)]
pub struct Begun {
    /// Its path.
    pub folder: PathBuf,
    kept: KeptFolder,
    journal: Journal,
    lines: Vec<Line>,
    /// The study it belongs to; `None` where that is damaged.
    pub header: Option<Header>,
    /// The study as it was started; `None` where that cannot be read.
    pub study: Option<String>,
}

impl Begun {
    /// True if a study was begun in `folder`.
    pub fn is_in(folder: &Path) -> Result<bool, Refusal> {
        if !matches!(Header::read(folder)?, PlanFile::Missing) {
            return Ok(true);
        }
        Ok(folder.join("runs.jsonl").metadata().is_ok_and(|about| about.len() > 0))
    }

    /// Its blocks, as asked for: a grouped plan gathers them into fewer. Nothing where its plan is
    /// damaged.
    pub fn blocks(&self, study: &StudyFile) -> Option<u32> {
        let Header { plan, asked, .. } = self.header.as_ref()?;
        let of_plan = plan.steps.len() / study.arms.len().max(1);
        asked.as_ref().map_or_else(|| u32::try_from(of_plan).ok(), |asked| Some(asked.blocks))
    }

    /// Opens a folder; nothing in it changes before the first run is kept.
    pub fn open(folder: &Path) -> Result<Self, Refusal> {
        if !Self::is_in(folder)? {
            let message = format!("no study was begun in `{}`", folder.display());
            return Err(Refusal::request(message)
                .hint("there is nothing to resume: omit --resume to start"));
        }
        let kept = KeptFolder::open(folder)?;
        let mut journal = Journal::open(&kept, "runs.jsonl")?;
        let lines = journal.lines()?;
        // Read again: until the journal was locked another process may have written it.
        let header = match Header::read(folder)? {
            PlanFile::Whole(header) => Some(*header),
            PlanFile::Missing | PlanFile::Damaged => None,
        };
        let path = folder.join("study.toml");
        let study = read::bytes(&path, read::STUDY)?.and_then(|it| String::from_utf8(it).ok());
        Ok(Self { folder: folder.to_owned(), kept, journal, lines, header, study })
    }

    /// Goes on with the study in `text`, which would begin with `header` today.
    pub fn resume(
        self,
        text: &str,
        header: &Header,
        control: &Control<'_>,
    ) -> Result<Going, Refusal> {
        let folder = self.folder.display();
        let header = match &self.header {
            Some(kept) => {
                self.refuse_if_other(kept, header)?;
                kept
            }
            // The checksums of the runs show what they belong to.
            None if self.holds_runs_of(&header.owner(text)) => header,
            None => {
                let message = format!("`{folder}/plan.json` is damaged");
                return Err(Refusal::request(message)
                    .hint(
                        "nothing was changed; repeat the command that started the study, with all \
                         its options and --resume",
                    )
                    .hint("or start again in another folder: --out DIR"));
            }
        };
        let owner = header.owner(text);
        if self.study.as_deref() != Some(text) && !self.holds_runs_of(&owner) {
            return refuse(&self.folder, "another study or matrix file");
        }
        for (name, damaged) in [
            ("plan.json", self.header.is_none()),
            ("study.toml", self.study.as_deref() != Some(text)),
        ] {
            if damaged {
                control.warn(&format!("`{folder}/{name}` is damaged and is written again"));
            }
        }
        if self.header.is_none() {
            header.write(&self.kept, control)?;
        }
        if self.study.as_deref() != Some(text) {
            self.kept.write("study.toml", text.as_bytes(), control)?;
        }
        let header = header.clone();
        Ok(Going { begun: self, header, owner })
    }

    /// The size of the target that the finished runs used, where the workload does not state it.
    pub fn size(&self, study: &StudyFile, text: &str) -> Option<Bytes> {
        let header = self.header.as_ref()?;
        let owner = header.owner(text);
        let seal = if header.is_plain() { Seal::Absent } else { Seal::Whole };
        let whole = self.lines.iter().filter(|line| owner.check(&line.text) == seal);
        let mut runs = whole.filter_map(|line| serde_json::from_slice(&line.text).ok());
        runs.find_map(|run: StoredRun| match run.task {
            Task::Workload(index) if study.workloads.get(index)?.work.load()?.size.is_none() => {
                run.record.config.workload.as_ref()?.size
            }
            _ => None,
        })
    }

    /// True if a line of the journal has a checksum that holds for `owner`.
    fn holds_runs_of(&self, owner: &Owner) -> bool {
        self.lines.iter().any(|line| line.ended && owner.check(&line.text) == Seal::Whole)
    }

    fn refuse_if_other(&self, kept: &Header, header: &Header) -> Result<(), Refusal> {
        let (old, new) = (&kept.target, &header.target);
        // Earlier layouts recorded the inode also for arms with their own files, and no checksum of
        // a profile.
        let plain = kept.is_plain()
            && (old.starts_with(&format!("{new} (inode "))
                || new.starts_with(&format!("{old} (crc32 ")));
        let same = old == new || plain;
        if !same {
            return refuse(&self.folder, &format!("another target (`{old}`, now `{new}`)"));
        }
        if kept.stage != header.stage {
            let what = format!("another stage ({}, now {})", kept.stage, header.stage);
            return refuse(&self.folder, &what);
        }
        if kept.seed != header.seed {
            let what = format!("another seed ({}, now {})", kept.seed, header.seed);
            return refuse(&self.folder, &what);
        }
        if kept.only() != header.only() {
            let (old, new) = (listed(kept.only()), listed(header.only()));
            return refuse(&self.folder, &format!("other workloads ({old}, now {new})"));
        }
        let (old, new) = (&kept.plan, &header.plan);
        // Blocks shared boots then: their runs must not pass for independent ones.
        if kept.is_plain() && old.design == Design::Grouped {
            let (old, new) = (&kept.schema, &header.schema);
            let what =
                format!("another plan (`{old}`, now `{new}`) by another version of drivelab");
            return refuse(&self.folder, &what);
        }
        if (old.design, old.blocks, old.steps.len()) != (new.design, new.blocks, new.steps.len()) {
            return refuse(&self.folder, "another number of blocks or arms");
        }
        Ok(())
    }
}

/// A study that goes on.
#[derive(Debug)]
pub struct Going {
    begun: Begun,
    /// The study it belongs to: its plan is the one to follow.
    pub header: Header,
    owner: Owner,
}

impl Going {
    /// Reads the finished runs; names unreadable lines, whose runs are made again.
    pub fn out(self, agenda: &Agenda, control: &Control<'_>) -> Out {
        let Self { begun, header, owner } = self;
        let path = begun.journal.path().display().to_string();
        let mut done = BTreeMap::new();
        for line in &begun.lines {
            // A line of another study is as useless as a damaged one.
            let sealed = header.holds(&owner, &line.text);
            let run: Option<StoredRun> = serde_json::from_slice(&line.text).ok();
            let run = run.filter(|_| sealed && line.ended);
            let index = run.as_ref().and_then(|run| agenda.index(&run.step, run.task));
            if let Some((index, run)) = index.zip(run) {
                // A duplicate line counts once.
                done.entry(index).or_insert(run);
            } else {
                let how = if line.ended { "is damaged" } else { "is truncated" };
                control.warn(&format!(
                    "{path}:{} {how} and ignored: its run is repeated",
                    line.number
                ));
            }
        }
        Out { folder: begun.kept, journal: begun.journal, owner, done }
    }
}

/// The names of the only workloads, for a message.
fn listed(only: &[String]) -> String {
    if only.is_empty() { "all".to_owned() } else { only.join(",") }
}

fn refuse<T>(folder: &Path, what: &str) -> Result<T, Refusal> {
    let failure = Refusal::request(format!("`{}` was started with {what}", folder.display()));
    Err(failure.hint("their runs cannot be compared; choose another folder: --out DIR"))
}

fn refuse_finished(folder: &Path) -> Result<(), Refusal> {
    if !name::is_finished(folder) {
        return Ok(());
    }
    let message = format!(
        "`{}` contains a finished study, which drivelab does not overwrite",
        folder.display()
    );
    Err(Refusal::request(message)
        .hint("choose another folder: --out DIR")
        .hint("or add --resume to show its result again"))
}

/// Refuses to discard runs on real hardware.
fn refuse_unfinished(folder: &Path, journal: &mut Journal) -> Result<(), Refusal> {
    let runs = journal.lines()?.len();
    if runs == 0 {
        return Ok(());
    }
    let what = match Header::read(folder)? {
        PlanFile::Whole(header) if header.stage != StageName::Hardware => return Ok(()),
        PlanFile::Whole(header) => format!("of `{}` with {runs} finished runs", header.target),
        PlanFile::Missing => format!("with {runs} finished runs, and its plan.json is gone"),
        PlanFile::Damaged => format!("with {runs} finished runs, and its plan.json is damaged"),
    };
    let message = format!("`{}` contains an unfinished study {what}", folder.display());
    Err(Refusal::request(message)
        .hint("add --resume to continue it")
        .hint("or choose another folder: --out DIR"))
}
