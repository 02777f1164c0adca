//! What a session ends with: a result, or a word on what is missing.

use drivelab_core::plan::Plan;
use drivelab_report::study::Experiment;
use drivelab_study::file::MatrixFile;
use drivelab_study::{Folder, Progressed, StageName, StudyFile};

use super::matrix;
use crate::failure::{Exit, Failure, Outcome};
use crate::ui::{Console, Ui};

/// Writes and prints what the finished runs allow to conclude.
pub(super) fn conclude(
    experiment: Experiment,
    progressed: &Progressed,
    folder: &Folder,
    ui: Ui,
) -> Outcome {
    if let Progressed::Waiting(what) = progressed {
        ui.note(what);
        return Ok(Exit::Inconclusive);
    }
    let interrupted = matches!(progressed, Progressed::Interrupted);
    let runs = experiment.runs.len() + experiment.curves.len();
    let result = match drivelab_report::study::analyse(experiment) {
        Ok(result) => result,
        Err(_) if interrupted => {
            ui.warn(&format!(
                "interrupted before a verdict is possible; {runs} finished runs are kept; continue \
                 with --resume"
            ));
            return Ok(Exit::Interrupted);
        }
        Err(error) => {
            let kept = format!("the finished runs are kept in `{}`", folder.path().display());
            return Err(Failure::cannot_here(error).hint(kept));
        }
    };
    let json = drivelab_report::study::json(&result);
    let console = Console::new(ui);
    let page = folder.write("report.html", &drivelab_report::page::html(&result), &console)?;
    if !interrupted {
        // Its presence says that the study is finished.
        folder.write("result.json", &json, &console)?;
    }
    if ui.json {
        ui.result(&json)?;
    } else {
        ui.result(&drivelab_report::study::text(&result, ui.look()))?;
    }
    ui.note(&format!("report: {}", page.display()));
    if interrupted {
        ui.warn("interrupted: the verdict covers the finished runs; continue with --resume");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::of(&result.primary().adjusted.comparison))
}

/// Refuses a matrix study at any stage but simulate.
pub(super) fn only_in_virtual_time(study: &StudyFile) -> Result<(), Failure> {
    if study.stage == StageName::Simulate {
        return Ok(());
    }
    let message = format!("a matrix study runs at stage simulate, not at {}", study.stage);
    Err(Failure::cannot_here(anyhow::anyhow!(message))
        .hint("on real drives: drivelab run --matrix FILE"))
}

/// Runs a matrix study: in virtual time, from the beginning, since it takes less than a minute.
pub(super) fn matrix(
    study: &StudyFile,
    file: &MatrixFile,
    plan: &Plan,
    folder: &Folder,
    command: String,
    ui: Ui,
) -> Outcome {
    let Some(result) = matrix::simulate(study, file, plan, command)? else {
        ui.warn("interrupted: part of the cells allows no verdict");
        return Ok(Exit::Interrupted);
    };
    let json = drivelab_report::study::json(&result);
    let console = Console::new(ui);
    let page = folder.write("report.html", &drivelab_report::page::html(&result), &console)?;
    folder.write("result.json", &json, &console)?;
    if ui.json {
        ui.result(&json)?;
    } else {
        ui.result(&drivelab_report::study::text(&result, ui.look()))?;
    }
    ui.note(&format!("report: {}", page.display()));
    Ok(Exit::Done)
}
