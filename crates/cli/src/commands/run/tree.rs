//! `run DIR --suite NAME`: a benchmark of files.

use std::path::Path;

use drivelab_core::record::RunRecord;
use drivelab_report::text::outline;
use drivelab_suites::{SUITES, Suite};

use super::suite::Around;
use crate::exit::Outcome;
use crate::ui::{Progress, Ui};
use drivelab_core::Refusal;
use drivelab_lab::{measure, target};

/// The name that lists the suites of files.
pub(super) const HELP: &str = "help";

/// True if this is the name of a suite of files, with or without options.
pub(super) fn is_named(text: &str) -> bool {
    let name = text.split(',').next();
    SUITES.iter().any(|suite| name == Some(suite.name))
}

/// Lists the suites of files with their options.
pub(super) fn help(ui: Ui) -> Outcome {
    ui.result(&outline(&drivelab_suites::help(), ui.look()))
}

/// The suite with its options.
pub(super) fn parse(text: &str, has_loops: bool, around: &Around) -> Result<Suite, Refusal> {
    let text = match around.workload.0.size {
        Some(size) => format!("{text},size={size}"),
        None => text.to_owned(),
    };
    let list = "`drivelab run --suite help` lists the suites of files and their options";
    let suite: Suite = text.parse().map_err(|wrong: String| Refusal::request(wrong).hint(list))?;
    let name = suite.name();
    if has_loops || around.workload.is_typed("runtime") {
        let message = format!("`--runtime`, `--loops` and `--pause` have no effect on `{name}`");
        return Err(Refusal::request(message).hint(list));
    }
    Ok(suite)
}

/// Runs the suite.
pub(super) fn run(
    text: &str,
    has_loops: bool,
    around: Around,
    ui: Ui,
) -> Result<RunRecord, Refusal> {
    let suite = parse(text, has_loops, &around)?;
    let name = suite.name();
    let target = &around.target;
    if target.starts_with(target::PREFIX) {
        let message = format!("`{target}` is a modelled drive, and `{name}` needs files");
        return Err(Refusal::request(message)
            .hint("name a folder")
            .hint("on a file system of a guest: --in kernel --filesystem ext4"));
    }
    let progress = Progress::steps(1, name);
    let mut record = measure::suite(&suite, Path::new(target), around.seed, &progress.control())?;
    drop(progress);
    if suite.drops_everything() {
        ui.note("the page cache of the whole machine was dropped; to keep it: `drop=never`");
    }
    record.label = around.label;
    Ok(record)
}
