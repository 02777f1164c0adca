//! `study`: runs an experiment and prints its verdict.

mod arguments;
mod conclude;
mod experiment;
pub(super) mod matrix;
mod session;

use drivelab_study::StudyFile;
use drivelab_study::embedded::STUDIES;

use crate::failure::Outcome;
use crate::stage::DriveKeys;
use crate::ui::Ui;

pub(crate) use arguments::StudyArgs;

/// Runs the study.
pub(crate) fn run(arguments: &StudyArgs, ui: Ui) -> Outcome {
    if arguments.list {
        return list(ui);
    }
    if arguments.resume { session::resume(arguments, ui) } else { session::begin(arguments, ui) }
}

fn list(ui: Ui) -> Outcome {
    let mut lines = String::new();
    for (name, text) in STUDIES {
        let study = StudyFile::parse(name, text, &DriveKeys)?;
        lines.push_str(&format!("{name:24}{} (stage {})\n", study.title, study.stage));
    }
    ui.result(&lines)
}
