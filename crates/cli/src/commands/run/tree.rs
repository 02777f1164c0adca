//! `run DIR --suite NAME`: a benchmark of files.

use std::path::Path;

use drivelab_report::text::outline;
use drivelab_suites::{SUITES, Step, Suite};

use super::suite::{Around, finish};
use crate::failure::{Failure, Outcome};
use crate::measure;
use crate::target;
use crate::ui::{Progress, Ui};

/// What lists the suites of files.
const HELP: &str = "help";

/// Whether a suite of files is called so, with options or without.
pub(super) fn is_named(text: &str) -> bool {
    let name = text.split(',').next();
    text == HELP || SUITES.iter().any(|suite| name == Some(suite.name))
}

/// Runs the suite and prints what its phases came to.
pub(super) fn run(text: &str, has_loops: bool, around: Around, ui: Ui) -> Outcome {
    if text == HELP {
        return ui.result(&outline(&drivelab_suites::help(), ui.look()));
    }
    let text = match around.workload.0.size {
        Some(size) => format!("{text},size={size}"),
        None => text.to_owned(),
    };
    let list = "`drivelab run --suite help` lists the suites of files and their options";
    let suite: Suite =
        text.parse().map_err(|wrong: String| Failure::bad_words(wrong).hint(list))?;
    let name = suite.name();
    if has_loops || around.workload.0.runtime.is_some() {
        let message = format!("`--runtime`, `--loops` and `--pause` do nothing beside `{name}`");
        return Err(Failure::bad_words(message).hint(list));
    }
    let Some(target) = &around.target else {
        let hint = format!("name a folder on it: drivelab run DIR --suite {text}");
        return Err(Failure::bad_words("no disk to measure was given").hint(hint));
    };
    if target.starts_with(target::PREFIX) {
        let message = format!("`{target}` is a modelled drive, and `{name}` needs files");
        return Err(Failure::bad_words(message).hint("name a folder"));
    }
    let progress = Progress::steps(1, name);
    let show = |step: &Step<'_>| progress.phase(step);
    let mut record = measure::suite(&suite, Path::new(target), around.seed, &show)?;
    drop(progress);
    record.label = around.label;
    finish(&record, around.out.as_deref(), ui)
}
