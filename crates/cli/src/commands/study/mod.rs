//! `study`: runs an experiment and prints its verdict.

pub(crate) mod again;
mod arguments;
pub(crate) mod articles;
mod conclude;
pub(crate) mod executor;
pub(crate) mod explain;
pub(super) mod matrix;
mod session;

use drivelab_report::text::json_text;
use drivelab_study::StudyFile;
use drivelab_study::embedded::STUDIES;

use self::arguments::asked_for;
use self::executor::{Executor, Here};
use crate::exit::Outcome;
use crate::ui::Ui;
use drivelab_lab::stage::DriveKeys;

pub(crate) use arguments::StudyArgs;

/// Runs the study.
pub(crate) fn run(arguments: &StudyArgs, ui: Ui) -> Outcome {
    if arguments.list {
        return list(ui);
    }
    if arguments.print {
        return print(arguments, ui);
    }
    run_at(arguments, &mut Here, ui)
}

/// Runs a study with another executor.
pub(crate) fn run_at(arguments: &StudyArgs, executor: &mut dyn Executor, ui: Ui) -> Outcome {
    arguments.keep.check(arguments.label.as_ref())?;
    if arguments.resume {
        return session::resume(arguments, executor, ui);
    }
    session::begin(arguments, executor, ui)
}

/// Prints the file of the study.
fn print(arguments: &StudyArgs, ui: Ui) -> Outcome {
    let (name, text) = asked_for(arguments)?;
    if ui.json {
        let schema = drivelab_report::study::STUDY_SCHEMA;
        return ui.result(&json_text(&serde_json::json!({
            "schema": schema, "name": name, "file": text,
        })));
    }
    ui.document(text.trim_end_matches('\n'))
}

fn list(ui: Ui) -> Outcome {
    let (mut lines, mut studies) = (String::new(), Vec::new());
    for (name, text) in STUDIES {
        let StudyFile { title, stage, article, .. } = StudyFile::parse(name, text, &DriveKeys)?;
        let repeats = article.map(|number| format!(", article {number}")).unwrap_or_default();
        lines.push_str(&format!("{name:24}{title} (stage {stage}{repeats})\n"));
        studies.push(serde_json::json!({
            "name": name, "title": title, "stage": stage.to_string(), "article": article,
        }));
    }
    if ui.json {
        let schema = drivelab_report::study::STUDY_SCHEMA;
        return ui.result(&json_text(&serde_json::json!({"schema": schema, "studies": studies})));
    }
    ui.result(&lines)
}
