//! `run DIR --suite NAME`: a benchmark of files.

use std::path::Path;

use drivelab_core::units::Bytes;
use drivelab_report::text::{Align, BOLD, DIM, Table};
use drivelab_suites::{SUITES, Step, Suite};

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
        return ui.result(&help(ui));
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
    let (mut record, interrupted) =
        measure::suite(&suite, Path::new(&target), arguments.seed, &show)?;
    drop(progress);
    record.label = arguments.label;
    super::print(&record, ui)?;
    if interrupted {
        ui.warn("interrupted: only the phases that had ended are shown");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::Done)
}

/// Every suite with its options.
fn help(ui: Ui) -> String {
    let look = ui.look();
    let mut text =
        String::from("drivelab run DIR --suite NAME[,key=value...] runs one of these in DIR.\n");
    for suite in SUITES {
        text += &format!("\n{}  {}\n", look.paint(suite.name, BOLD), suite.summary);
        let columns = [("", Align::Left, 0), ("", Align::Left, 0), ("", Align::Left, 0)];
        let mut table = Table::new(&columns);
        for option in suite.options {
            let default = if option.default.is_empty() { "-" } else { option.default };
            let help = option.help.trim().trim_end_matches('.').to_owned();
            let cells = [(option.key.to_owned(), BOLD), (default.to_owned(), DIM)];
            table.row(cells.into_iter().chain([(help, anstyle::Style::new())]).collect());
        }
        text += &table.render(look);
    }
    text
}
