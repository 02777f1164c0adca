//! Stage hardware: a real file, arms switched by commands or by the user.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use drivelab_core::Conduct;
use drivelab_core::record::{RunRecord, Stamp};
use drivelab_core::units::Bytes;
use drivelab_core::workload::Workload;

use super::file::Arm;
use super::{Bench, Entered, StoredRun, StudyFile, Task, risk};
use crate::failure::{AtPath as _, Failure};
use crate::interrupt::{self, Shield};
use crate::measure::{self, Measurement};
use crate::output;
use crate::ui::Ui;

/// The arms of a study on a real file.
#[derive(Debug)]
pub(crate) struct Hardware {
    path: PathBuf,
    size: Bytes,
    arms: Vec<Arm>,
    workloads: Vec<Workload>,
    curve: Vec<Workload>,
    overwrite: bool,
    /// The arm that the user says is in place.
    in_place: Option<usize>,
    /// Up from before a command switches to an arm until another has switched back.
    shield: Option<Shield>,
    ui: Ui,
}

impl Hardware {
    /// The study on the file at `target`, which is laid out at `size` where it does not exist.
    pub(crate) fn new(
        study: &StudyFile,
        target: &Path,
        size: Bytes,
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
        measure::lay_out_if_missing(target, size, study.seed)?;
        let of_curve = study.curve.iter().flat_map(|curve| &curve.depths);
        Ok(Self {
            path: target.canonicalize().at_path("find", target)?,
            size,
            arms: study.arms.clone(),
            workloads: study.workloads.iter().map(|named| named.workload.clone()).collect(),
            curve: of_curve.map(|(_, workload)| workload.clone()).collect(),
            overwrite: false,
            in_place: None,
            shield: None,
            ui,
        })
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

    fn shell(command: &str, arm: &str) -> Result<(), Failure> {
        let output = Command::new("sh").args(["-c", command]).output()?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let message = format!("the command of arm `{arm}` failed ({}): {command}", output.status);
        let failure = Failure::cannot_here(anyhow::anyhow!(message));
        Err(match said.trim() {
            "" => failure,
            said => failure.hint(format!("it said: {said}")),
        })
    }

    /// Whether the arm's own check, where it has one, says that it is in place.
    fn checked(arm: &Arm) -> Result<Option<bool>, Failure> {
        let Some(check) = &arm.check else { return Ok(None) };
        Ok(Some(Command::new("sh").args(["-c", check]).output()?.status.success()))
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
            return Ok(Entered::Ready);
        }
        Ok(Entered::Waiting(format!(
            "Next is arm `{name}`: {what}\nThe runs so far are kept. When it is done, type the \
             same command with: --resume --in-place {name}"
        )))
    }
}

impl Bench for Hardware {
    fn target(&self) -> String {
        let path = self.path.display();
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
        if let Some(apply) = &arm.apply {
            Self::shell(apply, &arm.name)?;
        }
        if Self::checked(arm)? == Some(false) {
            let message = format!(
                "arm `{}` is not in place: its check failed: {}",
                arm.name,
                arm.check.as_deref().unwrap_or_default()
            );
            self.leave(place)?;
            return Err(Failure::cannot_here(anyhow::anyhow!(message))
                .hint("what `apply` does must make `check` succeed"));
        }
        Ok(Entered::Ready)
    }

    fn leave(&mut self, place: usize) -> Result<(), Failure> {
        let arm = &self.arms[place];
        let left = arm.revert.as_ref().map_or(Ok(()), |revert| Self::shell(revert, &arm.name));
        self.shield = None;
        left
    }

    fn run(&mut self, place: usize, task: Task, seed: u64) -> Result<RunRecord, Failure> {
        let arm = &self.arms[place];
        let workload = match task {
            Task::Workload(place) => &self.workloads[place],
            Task::Curve(place) => &self.curve[place],
        };
        let size = workload.size.unwrap_or(self.size);
        measure::file(
            &Measurement {
                path: self.path.clone(),
                workload: Workload { size: Some(size), ..workload.clone() },
                numjobs: 1,
                conduct: Conduct::default(),
                seed,
                ioengine: arm.ioengine,
                polling: drivelab_core::Polling::default(),
                stamp: Stamp::Io,
                direct: arm.direct.unwrap_or(true),
                overwrite: self.overwrite,
                allow_destructive: Vec::new(),
                verify_state: None,
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

    fn notes(&self) -> Vec<String> {
        vec![format!("Measured on {}.", self.target())]
    }
}
