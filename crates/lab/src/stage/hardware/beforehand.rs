//! Checks that can refuse a study on real files before its first run.

use std::path::PathBuf;

use drivelab_core::Refusal;
use drivelab_core::matrix::Matrix;
use drivelab_study::{Arm, PlannedRun, StudyFile, Task};

use crate::interrupt;

/// Refuses work that would write to a block device.
pub(super) fn refuse_writing(study: &StudyFile, targets: &[Vec<PathBuf>]) -> Result<(), Refusal> {
    let writing = study.workloads.iter().find(|named| named.work.writes());
    let of_matrix = study.matrix.iter().flat_map(Matrix::groups).find(|group| group.read < 100);
    let name = writing.map(|named| named.name.clone()).or(of_matrix.map(|group| group.name()));
    let mut targets = targets.iter().flatten();
    let device = targets.find(|target| crate::paths::refuse_device(target).is_err());
    let (Some(name), Some(target)) = (name, device) else {
        return Ok(());
    };
    let target = target.display();
    let message = format!("`{target}` is a block device, and workload `{name}` writes");
    Err(Refusal::request(message)
        .hint("a study writes to files only: give a file on a file system of that device"))
}

/// Refuses arms that are declared to differ in what nothing switches here: they would be measured
/// alike.
pub(super) fn refuse_unswitched(
    study: &StudyFile,
    targets: &[Vec<PathBuf>],
) -> Result<(), Refusal> {
    if study.workloads.iter().any(|named| named.work.uses("arm")) {
        // What a command does with the name of its arm is not visible here.
        return Ok(());
    }
    for (number, arm) in study.arms.iter().enumerate().filter(|(_, arm)| !is_switched(arm)) {
        for (earlier, other) in study.arms.iter().enumerate().take(number) {
            let is_same = targets.get(number) == targets.get(earlier)
                && arm.command.as_ref().map(ToString::to_string)
                    == other.command.as_ref().map(ToString::to_string);
            if is_switched(other) || !is_same {
                continue;
            }
            if let Some(what) = difference(arm, other) {
                let message = format!(
                    "nothing sets `{what}` here, so arms `{}` and `{}` would be measured alike",
                    other.name, arm.name
                );
                return Err(Refusal::request(message)
                    .hint("give the arms `apply = \"COMMAND\"` and `revert`, or `manual = \"...\"`")
                    .hint("or measure the models of these settings: --stage simulate"));
            }
        }
    }
    Ok(())
}

/// Refuses an arm without commands next to one that nothing undoes: in random order it would be
/// measured under the settings of the other.
pub(super) fn refuse_unreverted(
    study: &StudyFile,
    targets: &[Vec<PathBuf>],
) -> Result<(), Refusal> {
    let arms = || study.arms.iter().zip(targets);
    for (applied, own) in arms().filter(|(arm, _)| arm.apply.is_some() && arm.revert.is_none()) {
        // A command may prepare the arm's own target, which no other arm uses.
        let Some((bare, _)) = arms().find(|(arm, its)| !is_switched(arm) && *its == own) else {
            continue;
        };
        let (applied, bare) = (&applied.name, &bare.name);
        let message = format!(
            "nothing undoes the `apply` of arm `{applied}`, so arm `{bare}`, which has none, would \
             be measured under it"
        );
        return Err(Refusal::request(message)
            .hint(format!("give arm `{applied}` a `revert = \"COMMAND\"`"))
            .hint(format!("or give arm `{bare}` an `apply` that sets what it needs")));
    }
    Ok(())
}

/// A setting of a modelled drive that one arm has and another has not.
fn difference(arm: &Arm, other: &Arm) -> Option<String> {
    let own = arm.settings.iter().find(|setting| !other.settings.contains(setting));
    let setting =
        own.or_else(|| other.settings.iter().find(|setting| !arm.settings.contains(setting)));
    setting
        .map(|setting| setting.key.to_owned())
        .or_else(|| (arm.drive != other.drive).then(|| "drive".to_owned()))
}

/// True if a command or the user changes the machine for this arm.
fn is_switched(arm: &Arm) -> bool {
    arm.apply.is_some() || arm.manual.is_some()
}

/// Tries runs of an arm, one of each kind, until one would be refused.
pub(super) fn try_kinds(
    study: &StudyFile,
    arm: usize,
    try_one: &dyn Fn(PlannedRun) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let name = &study.arms[arm].name;
    for task in kinds(study) {
        if interrupt::requested() {
            break;
        }
        let request = PlannedRun { arm, task, seed: study.seed, specimen: None };
        try_one(request).map_err(|failure| match task {
            Task::Workload(number) => {
                let workload = &study.workloads[number].name;
                failure.hint(format!("this is workload `{workload}` of arm `{name}`"))
            }
            Task::Curve(_) | Task::Cell(_) => failure.hint(format!("this is arm `{name}`")),
        })?;
    }
    Ok(())
}

/// One run of each kind, as far as being refused goes.
fn kinds(study: &StudyFile) -> Vec<Task> {
    let mut kinds: Vec<Task> = (0..study.workloads.len()).map(Task::Workload).collect();
    kinds.extend(study.curve.as_ref().map(|_| Task::Curve(0)));
    let mut seen = Vec::new();
    for (number, cell) in study.cells.iter().enumerate() {
        let kind = (cell.target, cell.group.threads, cell.size, cell.group.read < 100);
        if !seen.contains(&kind) {
            seen.push(kind);
            kinds.push(Task::Cell(number));
        }
    }
    kinds
}
