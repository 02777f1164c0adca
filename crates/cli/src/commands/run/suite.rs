//! `run DIR --suite NAME`: a benchmark of files.

use std::path::Path;

use drivelab_core::record::MarkId;
use drivelab_core::units::Bytes;
use drivelab_report::text::outline;
use drivelab_suites::{Step, Suite};

use crate::failure::{Exit, Failure, Outcome};
use crate::measure;
use crate::target;
use crate::ui::{Progress, Ui};

/// What the command line says of a suite.
#[derive(Debug)]
pub(super) struct SuiteArgs {
    /// `NAME[,key=value...]`, or `help`.
    pub(super) text: String,
    /// The folder.
    pub(super) target: Option<String>,
    pub(super) size: Option<Bytes>,
    pub(super) seed: u64,
    pub(super) label: Option<String>,
}

/// Runs the suite and prints what its phases came to.
pub(super) fn run(arguments: SuiteArgs, ui: Ui) -> Outcome {
    if arguments.text == "help" {
        return ui.result(&outline(&drivelab_suites::help(), ui.look()));
    }
    let text = match arguments.size {
        Some(size) => format!("{},size={size}", arguments.text),
        None => arguments.text,
    };
    let suite: Suite = text.parse().map_err(|wrong: String| {
        Failure::bad_words(wrong).hint("`drivelab run --suite help` lists suites and options")
    })?;
    let Some(target) = arguments.target else {
        let hint = format!("name a folder on it: drivelab run DIR --suite {text}");
        return Err(Failure::bad_words("no disk to measure was given").hint(hint));
    };
    if target.starts_with(target::PREFIX) {
        let message = format!("`{target}` is a modelled drive, and `{}` needs files", suite.name());
        return Err(Failure::bad_words(message).hint("name a folder"));
    }
    let progress = Progress::steps(1, suite.name());
    let show = |step: &Step<'_>| progress.phase(step);
    let mut record = measure::suite(&suite, Path::new(&target), arguments.seed, &show)?;
    drop(progress);
    record.label = arguments.label;
    super::print(&record, ui)?;
    if record.marks.iter().any(|mark| mark.id == MarkId::Interrupted) {
        ui.warn("interrupted: only the phases that had ended are shown");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Done)
}
