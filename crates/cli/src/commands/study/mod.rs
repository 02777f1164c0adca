//! `study`: runs an experiment and prints its verdict.

mod conclude;
mod experiment;
pub(super) mod matrix;
mod session;

use std::path::PathBuf;

use clap::Args;
use drivelab_core::units::Bytes;
use drivelab_study::embedded::{self, STUDIES};
use drivelab_study::{StageName, StudyFile};

use crate::failure::{Failure, Outcome};
use crate::input;
use crate::stage::DriveKeys;
use crate::ui::{Show, Ui};

/// Run an experiment and print what may be concluded from it.
///
/// NAME is one of the studies that come with drivelab (`drivelab study --list`), FILE a study of
/// your own. Finished runs are kept in the results folder; Ctrl-C loses only the run under way, and
/// --resume goes on. What a finished study left is never replaced: the next of its name goes to a
/// folder of its own.
#[derive(Debug, Args)]
pub(crate) struct StudyArgs {
    /// A study that comes with drivelab, or a study file.
    #[arg(value_name = "FILE|NAME", required_unless_present_any = ["list", "resume"])]
    study: Option<String>,
    /// List the studies that come with drivelab.
    #[arg(long)]
    list: bool,
    /// Where to run it: simulate (virtual time), emulate (a modelled drive served in real time) or
    /// hardware (a real file).
    #[arg(long)]
    stage: Option<StageName>,
    /// Blocks: how often each arm is measured.
    #[arg(long, value_name = "N")]
    blocks: Option<u32>,
    /// Only these workloads of the study; the verdict's own must be among them. The curve is left
    /// out.
    #[arg(long, value_name = "W,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Seed of everything random.
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Results folder [default: drivelab-results/NAME, then NAME-2, ...].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on where an earlier session stopped, with the options of that session.
    #[arg(long)]
    resume: bool,
    /// At stage hardware: the file or device that is measured, where an arm names none of its own.
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    /// At stage hardware: how much of the file is used [default: all of it; a file that does not
    /// exist is laid out at 1G].
    #[arg(long, value_name = "SIZE")]
    size: Option<Bytes>,
    /// At stage hardware: say that this arm is in place, after you switched to it by hand.
    #[arg(long, value_name = "ARM")]
    in_place: Option<String>,
    /// At stage hardware: writing workloads may destroy what the file holds.
    #[arg(long)]
    overwrite: bool,
    /// How progress is shown: a bar on a terminal, a line for each finished run, nothing.
    #[arg(long, value_name = "HOW", default_value = "bar")]
    progress: Show,
}

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

/// The text of a study: a file where there is one of this name, else one that comes with us.
fn read(name: &str) -> Result<String, Failure> {
    let path = std::path::Path::new(name);
    if let (false, Some(text)) = (path.exists(), embedded::text(name)) {
        return Ok(text.to_owned());
    }
    if !path.exists() && path.extension().is_none() {
        let names = STUDIES.iter().map(|(name, _)| *name);
        let near = drivelab_core::config::nearest(name, names.clone());
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are: {}", names.collect::<Vec<_>>().join(", ")),
        };
        let message = format!("there is no study `{name}`, and no such file");
        return Err(Failure::bad_words(message).hint(hint));
    }
    input::text(path, input::STUDY)
}
