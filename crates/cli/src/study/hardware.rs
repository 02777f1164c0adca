//! Stage hardware: a real file, arms switched by commands or by the user.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use drivelab_core::record::RunRecord;
use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;
use drivelab_engine::RunPlan;

use super::file::Arm;
use super::shell::{self, Patience};
use super::{Bench, Entered, StoredRun, StudyFile, Task, risk};
use crate::failure::{AtPath as _, Failure};
use crate::interrupt::{self, Shield};
use crate::measure;
use crate::output;
use crate::ui::Ui;

/// The arms of a study on a real file.
#[derive(Debug)]
pub(crate) struct Hardware {
    /// From the root on; what it leads to is found out for each run, since arms may change that.
    path: PathBuf,
    /// How much of the file is used; known from the first arm on.
    size: Option<Bytes>,
    seed: u64,
    arms: Vec<Arm>,
    workloads: Vec<Workload>,
    curve: Vec<Workload>,
    overwrite: bool,
    /// The arm that the user says is in place.
    in_place: Option<usize>,
    /// The boot this machine is in, where an arm takes a reboot.
    boot: Option<String>,
    /// Up from before a command switches to an arm until another has switched back.
    shield: Option<Shield>,
    ui: Ui,
}

impl Hardware {
    /// The study on the file at `target`, which is laid out at `size` where it does not exist.
    pub(crate) fn new(
        study: &StudyFile,
        target: &Path,
        size: Option<Bytes>,
        ui: Ui,
    ) -> Result<Self, Failure> {
        let mut writing = study.workloads.iter().filter(|named| named.workload.rw.writes());
        if let Some(named) = writing.next()
            && output::refuse_device(target).is_err()
        {
            let (name, target) = (&named.name, target.display());
            let message = format!("`{target}` is a block device, and workload `{name}` writes");
            return Err(Failure::bad_words(message)
                .hint("a study writes files only: give one on a file system on that device"));
        }
        let of_curve = study.curve.iter().flat_map(|curve| &curve.depths);
        let mut hardware = Self {
            path: std::path::absolute(target).at_path("find", target)?,
            size,
            seed: study.seed,
            arms: study.arms.clone(),
            workloads: study.workloads.iter().map(|named| named.workload.clone()).collect(),
            curve: of_curve.map(|(_, workload)| workload.clone()).collect(),
            overwrite: false,
            in_place: None,
            boot: study.arms.iter().any(Arm::takes_reboot).then(boot_id).flatten(),
            shield: None,
            ui,
        };
        if !hardware.arms_bring_files() {
            hardware.settle()?;
            hardware.path = target.canonicalize().at_path("find", target)?;
        }
        Ok(hardware)
    }

    /// Whether an arm may put another file in the target's place: only what is done to the machine
    /// can.
    fn arms_bring_files(&self) -> bool {
        self.arms.iter().any(|arm| arm.apply.is_some() || arm.manual.is_some())
    }

    /// Lays the file out where it does not exist, and finds out how much of it is used.
    fn settle(&mut self) -> Result<(), Failure> {
        measure::lay_out_if_missing(&self.path, self.size.unwrap_or(SIZE), self.seed)?;
        let about = fs::metadata(&self.path).at_path("look at", &self.path)?;
        // Every arm has the same region, also where another arm's file is larger.
        if self.size.is_none() && about.is_file() {
            let whole_pages = about.len() / 4096 * 4096;
            self.size = Some(Bytes::new(whole_pages)).filter(|size| size.get() > 0);
        }
        Ok(())
    }

    /// Whether writing workloads may destroy what the file holds.
    pub(crate) fn overwriting(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Takes the user's word that an arm is in place.
    pub(crate) fn with_arm_in_place(mut self, name: Option<&str>) -> Result<Self, Failure> {
        let Some(name) = name else { return Ok(self) };
        self.in_place = self.arms.iter().position(|arm| arm.name == name);
        if self.in_place.is_none() {
            let names: Vec<&str> = self.arms.iter().map(|arm| arm.name.as_str()).collect();
            let message = format!("the study has no arm `{name}`");
            let hint = format!("its arms are: {}", names.join(", "));
            return Err(Failure::bad_words(message).hint(hint));
        }
        Ok(self)
    }

    fn shell(command: &str, arm: &str, patience: Patience) -> Result<(), Failure> {
        let ended = shell::run(command, patience)?;
        if ended.status.success() {
            return Ok(());
        }
        let message = format!("the command of arm `{arm}` failed ({}): {command}", ended.status);
        let failure = Failure::cannot_here(anyhow::anyhow!(message));
        Err(match ended.said.as_str() {
            "" => failure,
            said => failure.hint(format!("it said: {said}")),
        })
    }

    /// Has the arm's command put it in place, and finds the file there.
    fn put_in_place(&mut self, place: usize) -> Result<(), Failure> {
        let arm = &self.arms[place];
        if let Some(apply) = &arm.apply {
            Self::shell(apply, &arm.name, Patience::UntilInterrupted)?;
        }
        if Self::checked(arm)? == Some(false) {
            let (name, check) = (&arm.name, arm.check.as_deref().unwrap_or_default());
            let message = format!("arm `{name}` is not in place: its check failed: {check}");
            return Err(Failure::cannot_here(anyhow::anyhow!(message))
                .hint("what `apply` does must make `check` succeed"));
        }
        self.settle()
    }

    /// Whether the arm's own check, where it has one, says that it is in place.
    fn checked(arm: &Arm) -> Result<Option<bool>, Failure> {
        let Some(check) = &arm.check else { return Ok(None) };
        Ok(Some(shell::run(check, Patience::UntilInterrupted)?.status.success()))
    }

    /// An arm that the user puts in place: by its own check, by word given, or by asking.
    fn manual(&mut self, place: usize, what: &str) -> Result<Entered, Failure> {
        let name = self.arms[place].name.clone();
        let in_place = match Self::checked(&self.arms[place])? {
            Some(found) => found,
            // A word given counts once: the next switch needs another.
            None if self.in_place.take() == Some(place) => true,
            None => self.ui.confirm(&format!("Arm `{name}`: {what}\nDone?")) == Some(true),
        };
        if in_place {
            self.settle()?;
            return Ok(Entered::Ready);
        }
        Ok(Entered::Waiting(format!(
            "Next is arm `{name}`: {what}\nThe runs so far are kept. When it is done, type the \
             same command with: --resume --in-place {name}"
        )))
    }
}

/// What the kernel drew at random when it booted.
fn boot_id() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// The size at which a missing file is laid out where none is said.
const SIZE: Bytes = Bytes::gib(1);

impl Bench for Hardware {
    fn boot(&self) -> Option<String> {
        self.boot.clone()
    }

    fn target(&self) -> String {
        let path = self.path.display();
        if self.arms_bring_files() {
            return path.to_string();
        }
        match fs::metadata(&self.path) {
            Ok(meta) => format!("{path} (inode {}, {} bytes)", meta.ino(), meta.len()),
            Err(error) => format!("{path} ({error})"),
        }
    }

    fn enter(&mut self, place: usize) -> Result<Entered, Failure> {
        if let Some(what) = self.arms[place].manual.clone() {
            return self.manual(place, &what);
        }
        let arm = &self.arms[place];
        let switched = arm.apply.is_some() || arm.revert.is_some();
        self.shield = switched.then(interrupt::shield);
        if let Err(failure) = self.put_in_place(place) {
            // What was begun is undone: `apply` may have done half of it.
            return Err(match self.leave(place) {
                Ok(()) => failure,
                Err(second) => failure.hint(format!("nor could it be undone: {}", second.error)),
            });
        }
        Ok(Entered::Ready)
    }

    fn leave(&mut self, place: usize) -> Result<(), Failure> {
        let arm = &self.arms[place];
        let to_the_end = |revert| Self::shell(revert, &arm.name, Patience::ToTheEnd);
        let left = arm.revert.as_deref().map_or(Ok(()), |revert| match to_the_end(revert) {
            // Ctrl-C at a terminal ends the command that undoes the arm, too.
            Err(_) if interrupt::requested() => to_the_end(revert),
            left => left,
        });
        self.shield = None;
        left
    }

    fn run(&mut self, place: usize, task: Task, seed: u64) -> Result<RunRecord, Failure> {
        let arm = &self.arms[place];
        let workload = match task {
            Task::Workload(place) => &self.workloads[place],
            Task::Curve(place) => &self.curve[place],
        };
        // Links and mounts lead where this arm has them lead; the record names the file itself.
        let path = self.path.canonicalize().at_path("find", &self.path)?;
        let workload = Workload { size: workload.size.or(self.size), ..workload.clone() };
        measure::file(
            &RunPlan {
                seed,
                ioengine: arm.ioengine,
                direct: arm.direct.unwrap_or(true),
                allow_overwrite: self.overwrite,
                ..RunPlan::new(path, workload)
            },
            &|_| (),
        )
    }

    fn settings(&self) -> Vec<Vec<(String, String)>> {
        let row = |name: &str, value: Option<String>| Some((name.to_owned(), value?));
        let of_arm = |arm: &Arm| {
            let direct = if arm.direct.unwrap_or(true) { "O_DIRECT" } else { "buffered" };
            [
                row("file", Some(self.path.display().to_string())),
                row("page cache", Some(direct.into())),
                row("ioengine", arm.ioengine.map(|engine| engine.to_string())),
                row("put in place by", arm.apply.clone()),
                row("put in place by you", arm.manual.clone()),
                row("checked by", arm.check.clone()),
            ]
            .into_iter()
            .flatten()
            .collect()
        };
        self.arms.iter().map(of_arm).collect()
    }

    fn risks(&self, runs: &[StoredRun]) -> Vec<String> {
        vec![risk::seen(runs.iter().map(|run| &run.record))]
    }

    fn notes(&self, runs: &[StoredRun]) -> Vec<String> {
        let of_arm = |arm: usize| -> BTreeSet<&str> {
            let runs = runs.iter().filter(|run| run.step.arm == arm);
            runs.map(|run| run.record.target.as_str()).collect()
        };
        let all: BTreeSet<&str> = (0..self.arms.len()).flat_map(of_arm).collect();
        if all.len() < 2 {
            return vec![format!("Measured on {}.", self.target())];
        }
        let told = self.arms.iter().zip(0..).map(|(arm, place)| {
            let files: Vec<&str> = of_arm(place).into_iter().collect();
            format!("`{}` on {}", arm.name, files.join(" and "))
        });
        vec![format!("Measured {}.", told.collect::<Vec<_>>().join(", "))]
    }

    fn size(&self) -> Option<Bytes> {
        self.size
    }
}
