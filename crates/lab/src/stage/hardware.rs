//! Stage hardware: a real file, arms switched by commands or by the user.

mod beforehand;
#[cfg(feature = "mpi")]
pub mod start;

use std::collections::BTreeSet;
use std::fs;
use std::io::{Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use drivelab_analysis::attachment;
use drivelab_core::outline::Risk;
use drivelab_core::record::RunRecord;
use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;
use drivelab_core::{AtPath as _, Refusal};
use drivelab_engine::{LaidOut, RunPlan};
use drivelab_study::{Arm, Entered, PlannedRun, Stage, StoredRun, StudyFile, Task, Work, risk};

use super::cell_loads::{self, Region};
use super::confirm::Confirm;
use super::program::{self, Commands};
use super::shell::{self, Patience};
use super::suite;
use crate::interrupt::{self, Shield};
use crate::measure;
use crate::request::{self, CellLoad, Load, Permissions};

/// The arms of a study on real files or devices.
#[derive(Debug)]
pub struct Hardware {
    /// Each arm's targets from the root on, more than one only for a matrix; what they lead to is
    /// found out for each run, since arms may change that.
    paths: Vec<Vec<PathBuf>>,
    /// The used part of the target; known from the first arm on.
    size: Option<Bytes>,
    study: StudyFile,
    commands: Commands,
    overwrite: bool,
    /// The arm that is active by the user's word.
    active: Option<usize>,
    /// The boot this machine is in, where an arm takes a reboot.
    boot: Option<String>,
    /// True if the last arm that was left could be undone.
    is_reverted: bool,
    /// Files that were made for the study: removed with it if it is refused before its first run.
    laid_out: Vec<LaidOut>,
    /// Up from before a command switches to an arm until another has switched back.
    shield: Option<Shield>,
    confirm: Confirm,
}

impl Hardware {
    /// The study on each arm's target; a file that does not exist is laid out.
    pub fn new(
        study: &StudyFile,
        targets: &[Vec<PathBuf>],
        size: Option<Bytes>,
        confirm: Confirm,
    ) -> Result<Self, Refusal> {
        beforehand::refuse_writing(study, targets)?;
        beforehand::refuse_unswitched(study, targets)?;
        beforehand::refuse_unreverted(study, targets)?;
        let absolute = |target: &PathBuf| {
            if target.as_os_str().is_empty() {
                return Ok(target.clone());
            }
            std::path::absolute(target).at_path("find", target)
        };
        let mut hardware = Self {
            paths: targets
                .iter()
                .map(|of_arm| of_arm.iter().map(absolute).collect())
                .collect::<Result<_, _>>()?,
            size,
            study: study.clone(),
            commands: Commands::default(),
            overwrite: false,
            active: None,
            boot: study.arms.iter().any(Arm::takes_reboot).then(boot_id).flatten(),
            is_reverted: true,
            laid_out: Vec::new(),
            shield: None,
            confirm,
        };
        program::refuse_targets(study, &hardware.paths)?;
        if !hardware.arms_bring_files() {
            hardware.settle(&hardware.paths.concat())?;
            for path in hardware.paths.iter_mut().flatten() {
                // A command may make its target itself.
                match path.canonicalize() {
                    Err(_) if study.is_of_commands() => {}
                    found => *path = found.at_path("find", path)?,
                }
            }
        }
        Ok(hardware)
    }

    /// True if an arm may exchange the file of the target: only a change to the machine can.
    fn arms_bring_files(&self) -> bool {
        self.study.arms.iter().any(|arm| arm.apply.is_some() || arm.manual.is_some())
    }

    /// Lays out what does not exist, and finds out how much is used: the same region in every arm,
    /// so as much as the smallest target has.
    fn settle(&mut self, paths: &[PathBuf]) -> Result<(), Refusal> {
        let has_loads = self.study.workloads.iter().any(|named| named.work.load().is_some());
        if self.study.curve.is_none() && self.study.matrix.is_none() && !has_loads {
            return Ok(());
        }
        if self.size.is_none() {
            let existing = paths.iter().filter(|path| path.exists());
            let sizes = existing.map(|path| self.pages_of(path)).collect::<Result<Vec<_>, _>>()?;
            self.size = sizes.into_iter().flatten().min();
        }
        let usual = self.study.matrix.as_ref().is_none_or(|matrix| matrix.direct);
        let direct = self.study.arms.iter().any(|arm| arm.direct.unwrap_or(usual));
        for path in paths {
            let size = self.size.unwrap_or(SIZE);
            let made = measure::lay_out_if_missing(path, size, self.study.seed, direct)?;
            self.laid_out.extend(made);
        }
        if self.size.is_none() {
            let sizes =
                paths.iter().map(|path| self.pages_of(path)).collect::<Result<Vec<_>, _>>()?;
            self.size = sizes.into_iter().flatten().min();
        }
        Ok(())
    }

    /// The whole pages of a file, where it has any; of a device only where arms have other targets,
    /// since one device alone is its own region.
    fn pages_of(&self, path: &Path) -> Result<Option<Bytes>, Refusal> {
        let about = fs::metadata(path).at_path("look at", path)?;
        let has_others = self.paths.iter().flatten().any(|other| *other != self.paths[0][0]);
        let length = if about.is_file() {
            about.len()
        } else if has_others {
            let device = fs::File::open(path).and_then(|mut device| device.seek(SeekFrom::End(0)));
            device.at_path("find the size of", path)?
        } else {
            0
        };
        Ok(Some(Bytes::new(length / 4096 * 4096)).filter(|size| size.get() > 0))
    }

    /// Allows writing workloads to destroy the contents of the file.
    pub fn overwriting(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// A target, in words that are equal exactly when it is.
    fn named(&self, path: &Path) -> String {
        let name = path.display();
        if path.as_os_str().is_empty() {
            return "this machine".into();
        }
        if self.arms_bring_files() {
            return name.to_string();
        }
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => format!("{name} (inode {})", meta.ino()),
            // What a command makes is another file each time.
            _ if self.study.is_of_commands() => name.to_string(),
            Ok(meta) => format!("{name} (inode {}, {} bytes)", meta.ino(), meta.len()),
            Err(error) => format!("{name} ({error})"),
        }
    }

    /// Takes the user's word that an arm is active.
    pub fn with_arm_in_place(mut self, name: Option<&str>) -> Result<Self, Refusal> {
        let Some(name) = name else { return Ok(self) };
        self.active = self.study.arms.iter().position(|arm| arm.name == name);
        if self.active.is_none() {
            let names: Vec<&str> = self.study.arms.iter().map(|arm| arm.name.as_str()).collect();
            let message = format!("the study has no arm `{name}`");
            let hint = format!("its arms are: {}", names.join(", "));
            return Err(Refusal::request(message).hint(hint));
        }
        Ok(self)
    }

    /// Measures a cell of the matrix, on each of its targets at the same time.
    fn cell(&self, index: usize, request: PlannedRun) -> Result<RunRecord, Refusal> {
        let loads = self.cell_loads(index, request)?;
        self.make(self.found(request.arm), request::Work::Cell(loads), request.seed)
    }

    /// The loads of a cell of the matrix, one for each of its targets.
    fn cell_loads(&self, index: usize, request: PlannedRun) -> Result<Vec<CellLoad>, Refusal> {
        let arm = &self.study.arms[request.arm];
        let regions = self.paths[request.arm].iter().map(|path| {
            let path = path.canonicalize().at_path("find", path)?;
            Ok(Region { path, first: 0, size: self.size })
        });
        let regions = regions.collect::<Result<Vec<Region>, Refusal>>()?;
        cell_loads::refuse_twice(regions.iter().map(|region| region.path.as_path()))?;
        let matrix = self.study.matrix.as_ref().expect("its cells are runs");
        let mut loads = cell_loads::loads(matrix, &self.study.cells[index], &regions, request.seed);
        for CellLoad { load, .. } in &mut loads {
            load.ioengine = arm.ioengine;
            load.direct = arm.direct.unwrap_or(matrix.direct);
        }
        Ok(loads)
    }

    fn shell(command: &str, arm: &str, patience: Patience) -> Result<(), Refusal> {
        let ended = shell::run(command, patience)?;
        if ended.status.success() {
            return Ok(());
        }
        let message = format!("the command of arm `{arm}` failed ({}): {command}", ended.status);
        let failure = Refusal::machine(message);
        Err(match ended.said.as_str() {
            "" => failure.hint("it printed nothing; try it in a shell"),
            said => failure.hint(format!("its output: {said}")),
        })
    }

    /// Runs the arm's command, and finds the file afterwards.
    fn set_up(&mut self, index: usize) -> Result<(), Refusal> {
        let arm = &self.study.arms[index];
        if let Some(apply) = &arm.apply {
            Self::shell(apply, &arm.name, Patience::UntilInterrupted)?;
        }
        if Self::checked(arm)? == Some(false) {
            let (name, check) = (&arm.name, arm.check.as_deref().unwrap_or_default());
            let message = format!("arm `{name}` is not in place: its check failed: {check}");
            return Err(Refusal::machine(message).hint("after `apply`, `check` must succeed"));
        }
        self.settle(&self.paths[index].clone())?;
        self.try_active(index)
    }

    /// Refuses the active arm for reasons that could not be known before.
    fn try_active(&mut self, index: usize) -> Result<(), Refusal> {
        if self.arms_bring_files() {
            self.try_out(index)?;
        }
        self.keep_files();
        Ok(())
    }

    /// Keeps what was laid out: nothing that was tried is refused.
    fn keep_files(&mut self) {
        self.laid_out.drain(..).for_each(|mut made| made.keep());
    }

    /// Refuses at once what some run would be refused for, perhaps hours later: a target that is
    /// missing, in use, or not to be written. Where arms bring their own files, each is tried once
    /// it is active.
    pub fn tried_out(mut self) -> Result<Self, Refusal> {
        let mut tried: Vec<usize> = Vec::new();
        for arm in (0..self.study.arms.len()).filter(|_| !self.arms_bring_files()) {
            let is_known = tried.iter().any(|&known| {
                let (one, other) = (&self.study.arms[known], &self.study.arms[arm]);
                let are_same = self.paths[known] == self.paths[arm];
                are_same && (one.direct, one.ioengine) == (other.direct, other.ioengine)
            });
            if !is_known {
                self.try_out(arm)?;
                tried.push(arm);
            }
        }
        self.keep_files();
        Ok(self)
    }

    /// Refuses what some run of an arm would be refused for.
    fn try_out(&self, arm: usize) -> Result<(), Refusal> {
        beforehand::try_kinds(&self.study, arm, &|request| {
            if let Task::Cell(index) = request.task {
                let loads = self.cell_loads(index, request)?;
                return measure::try_out(&cell_loads::plans(&loads, &self.permissions()));
            }
            match self.study.work(request.task) {
                Work::Load(workload) => measure::try_out(&[self.plan(request, *workload)?]),
                Work::Suite(suite) => {
                    let permissions = Permissions::of_study(self.overwrite);
                    suite::try_out(&suite, &self.found(arm), request.seed, &permissions)
                }
                Work::Command(_) => Ok(()),
            }
        })
    }

    /// The result of the arm's own check, if it has one: true if it is active.
    fn checked(arm: &Arm) -> Result<Option<bool>, Refusal> {
        let Some(check) = &arm.check else { return Ok(None) };
        Ok(Some(shell::run(check, Patience::UntilInterrupted)?.status.success()))
    }

    /// Enters an arm that the user sets up: by its own check, by word given, or by asking.
    fn manual(&mut self, index: usize, what: &str) -> Result<Entered, Refusal> {
        let name = self.study.arms[index].name.clone();
        let is_active = match Self::checked(&self.study.arms[index])? {
            Some(found) => found,
            // A word given counts once: the next switch needs another.
            None if self.active.take() == Some(index) => true,
            None => (self.confirm)(&format!("Arm `{name}`: {what}\nDone?")) == Some(true),
        };
        if is_active {
            self.settle(&self.paths[index].clone())?;
            self.try_active(index)?;
            return Ok(Entered::Ready);
        }
        Ok(Entered::Waiting(format!(
            "Next is arm `{name}`: {what}\nThe runs so far are kept. Then repeat the command with: \
             --resume --in-place {name}"
        )))
    }
}

impl Hardware {
    /// The plan of a load, which is what `request` asks for.
    pub fn plan(&self, request: PlannedRun, workload: Workload) -> Result<RunPlan, Refusal> {
        let path = self.canonical(request.arm)?;
        Ok(self.load(request, workload).plan(path, request.seed, &self.permissions()))
    }

    /// A load as its arm has it done.
    fn load(&self, request: PlannedRun, workload: Workload) -> Load {
        let arm = &self.study.arms[request.arm];
        let workload = Workload { size: workload.size.or(self.size), ..workload };
        let load = Load::new(workload);
        Load { ioengine: arm.ioengine, direct: arm.direct.unwrap_or(load.direct), ..load }
    }

    /// Makes a run on a target.
    fn make(&self, path: PathBuf, work: request::Work, seed: u64) -> Result<RunRecord, Refusal> {
        let asked = crate::Request::on_path(path, work, seed).permitting(self.permissions());
        crate::run(&asked, &interrupt::silent())
    }

    const fn permissions(&self) -> Permissions {
        Permissions::of_study(self.overwrite)
    }

    /// The file or device that an arm's target leads to.
    fn canonical(&self, arm: usize) -> Result<PathBuf, Refusal> {
        let path = &self.paths[arm][0];
        path.canonicalize().at_path("find", path)
    }

    /// The target of an arm: links and mounts lead where this arm has them lead, and the record
    /// names the file itself.
    fn found(&self, arm: usize) -> PathBuf {
        let path = &self.paths[arm][0];
        path.canonicalize().unwrap_or_else(|_| path.clone())
    }

    /// The work of a request.
    #[cfg(feature = "mpi")]
    pub fn work(&self, request: PlannedRun) -> Work {
        self.study.work(request.task)
    }

    /// Uses so much of the target where workloads do not say it.
    #[cfg(feature = "mpi")]
    pub fn use_size(&mut self, size: Bytes) {
        self.size = Some(size);
    }
}

/// The identifier that the kernel drew at random when it booted.
fn boot_id() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// The size at which a missing file is laid out where none is said.
const SIZE: Bytes = Bytes::gib(1);

impl Stage for Hardware {
    type Error = Refusal;

    fn boot(&self) -> Option<String> {
        self.boot.clone()
    }

    fn target(&self) -> String {
        let of_arms = self.paths.iter().map(|paths| {
            paths.iter().map(|path| self.named(path)).collect::<Vec<_>>().join(" and ")
        });
        let mut each: Vec<String> = of_arms.collect();
        if each.iter().all(|one| *one == each[0]) {
            each.truncate(1);
        }
        each.join(", ")
    }

    fn enter(&mut self, index: usize) -> Result<Entered, Refusal> {
        if let Some(what) = self.study.arms[index].manual.clone() {
            return self.manual(index, &what);
        }
        let arm = &self.study.arms[index];
        let switched = arm.apply.is_some() || arm.revert.is_some();
        self.shield = switched.then(interrupt::shield);
        if let Err(failure) = self.set_up(index) {
            // What was begun is undone: `apply` may have done half of it.
            return Err(match self.leave(index) {
                Ok(()) => failure,
                Err(second) => failure.hint(format!("reverting it failed, too: {second}")),
            });
        }
        Ok(Entered::Ready)
    }

    fn undo(&mut self, index: usize) -> Result<(), Refusal> {
        let Err(failure) = self.leave(index) else { return Ok(()) };
        // It had been undone before, or the machine was started again since.
        if Self::checked(&self.study.arms[index])? != Some(false) {
            return Err(failure);
        }
        self.is_reverted = true;
        Ok(())
    }

    fn undo_run(&mut self, request: PlannedRun) -> Result<(), Refusal> {
        let Work::Command(command) = self.study.work(request.task) else { return Ok(()) };
        let path = self.found(request.arm);
        self.commands.undo_run(&self.study, &command, request, &path)
    }

    fn is_run_undone(&self) -> bool {
        self.commands.is_undone()
    }

    fn is_reverted(&self) -> bool {
        self.is_reverted
    }

    fn leave(&mut self, index: usize) -> Result<(), Refusal> {
        let arm = &self.study.arms[index];
        let to_the_end = |revert| Self::shell(revert, &arm.name, Patience::ToTheEnd);
        let left = arm.revert.as_deref().map_or(Ok(()), |revert| match to_the_end(revert) {
            // Ctrl-C at a terminal ends the command that undoes the arm, too.
            Err(_) if interrupt::requested() => to_the_end(revert),
            left => left,
        });
        self.shield = None;
        self.is_reverted = left.is_ok();
        left
    }

    fn run(&mut self, request: PlannedRun) -> Result<RunRecord, Refusal> {
        if let Task::Cell(index) = request.task {
            return self.cell(index, request);
        }
        let work = match self.study.work(request.task) {
            Work::Load(workload) => request::Work::Load(Box::new(self.load(request, *workload))),
            Work::Suite(suite) => request::Work::Suite(suite),
            Work::Command(command) => {
                let path = self.found(request.arm);
                return self.commands.run(&self.study, &command, request, &path, &mut || Ok(()));
            }
        };
        let path = match &work {
            request::Work::Load(_) => self.canonical(request.arm)?,
            _ => self.found(request.arm),
        };
        self.make(path, work, request.seed)
    }

    fn printed(&mut self) -> Option<String> {
        self.commands.printed()
    }

    fn settings(&self) -> Vec<Vec<(String, String)>> {
        let row = |name: &str, value: Option<String>| Some((name.to_owned(), value?));
        let of_arm = |(arm, paths): (&Arm, &Vec<PathBuf>)| {
            let direct = if arm.direct.unwrap_or(true) { "O_DIRECT" } else { "buffered" };
            let commands = self.study.is_of_commands();
            let named = paths.iter().filter(|path| !path.as_os_str().is_empty());
            let files: Vec<String> = named.map(|path| path.display().to_string()).collect();
            [
                row("file", (!files.is_empty()).then(|| files.join(", "))),
                row("page cache", (!commands).then(|| direct.into())),
                row("command", arm.command.as_ref().map(ToString::to_string)),
                row("ioengine", arm.ioengine.map(|engine| engine.to_string())),
                row("applied with", arm.apply.clone()),
                row("by hand", arm.manual.clone()),
                row("checked by", arm.check.clone()),
            ]
            .into_iter()
            .flatten()
            .collect()
        };
        self.study.arms.iter().zip(&self.paths).map(of_arm).collect()
    }

    fn risks(&self, runs: &[StoredRun]) -> Vec<Risk> {
        if self.paths.iter().flatten().all(|path| path.as_os_str().is_empty()) {
            return Vec::new();
        }
        let states =
            runs.iter().filter_map(|run| attachment::facts(&run.record).remove("write_cache"));
        vec![risk::seen(&states.collect())]
    }

    fn notes(&self, runs: &[StoredRun]) -> Vec<String> {
        let of_arm = |arm: usize| -> BTreeSet<&str> {
            let runs = runs.iter().filter(|run| run.step.arm == arm);
            runs.map(|run| run.record.target.as_str()).collect()
        };
        let all: BTreeSet<&str> = (0..self.study.arms.len()).flat_map(of_arm).collect();
        if all.len() < 2 {
            return vec![format!("Measured on {}.", self.target())];
        }
        let measured = self.study.arms.iter().zip(0..).map(|(arm, index)| {
            let files: Vec<&str> = of_arm(index).into_iter().collect();
            format!("`{}` on {}", arm.name, files.join(" and "))
        });
        vec![format!("Measured {}.", measured.collect::<Vec<_>>().join(", "))]
    }

    fn size(&self) -> Option<Bytes> {
        self.size
    }
}
