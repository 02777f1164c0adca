//! The command line of `study`: its options, and the text of the study.

use std::path::PathBuf;

use clap::Args;
use drivelab_core::StageName;
use drivelab_core::plan::Scale;
use drivelab_core::units::Bytes;
use drivelab_study::embedded::{self, STUDIES};
use drivelab_study::file::quick;

use crate::commands::archive::keep::KeepArgs;
use crate::commands::completion::{self, Offer};
use drivelab_core::Refusal;
use drivelab_lab::input;

/// Run an experiment and print its verdict.
///
/// NAME is a study included in drivelab (`drivelab study --list`), FILE your own study. Finished
/// runs are kept in the results folder: Ctrl-C loses only the current run, and --resume continues.
/// A finished study is never overwritten: the next one of the same name gets a new folder.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivelab study ahci-or-ide                              an included study, in virtual time
  drivelab study buffered-or-direct --target ./testfile   on a real file
  drivelab study ahci-or-ide --stage emulate --only random-read-1,random-read-32 --blocks 6
  drivelab study ahci-or-ide --print >my-study.toml       a copy to change
  drivelab study my-study.toml --resume                   continue after an interruption
  drivelab study my-study.toml --resume --explain         all that a finished study says
  drivelab study --command 'sort a' --command 'sort -S 1G a' --prepare sync")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct StudyArgs {
    /// An included study, or a study file.
    #[arg(value_name = "FILE|NAME", required_unless_present_any = ["list", "resume", "command"],
        value_parser = Offer(completion::studies), hide_possible_values = true)]
    pub(super) study: Option<String>,
    /// Compare the wall time of commands: give two or more, each with --command.
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["study", "list", "only", "size"])]
    pub(super) command: Vec<String>,
    /// Command to run before each run of a --command, not timed.
    #[arg(long, value_name = "COMMAND", requires = "command")]
    pub(super) prepare: Option<String>,
    /// List the studies included in drivelab.
    #[arg(long)]
    pub(super) list: bool,
    /// Print the study file instead of running it, to start one of your own from it.
    #[arg(long, conflicts_with_all = ["list", "resume"])]
    pub(super) print: bool,
    /// Print causes, notes and how to read the result, too; with --resume, of a finished study.
    #[arg(long)]
    pub(super) explain: bool,
    /// Where to run it: simulate (virtual time), kernel (virtual time under a real Linux kernel;
    /// see `guest setup`), emulate (a modelled drive served in real time) or hardware (a real file
    /// or device).
    #[arg(long, value_parser = completion::choice::<StageName>(), hide_possible_values = true)]
    pub(super) stage: Option<StageName>,
    /// The modelled drive, instead of the study's: NAME[,key=value...] or PATH.toml.
    #[arg(long, value_name = "DRIVE", value_parser = Offer(completion::drives),
        hide_possible_values = true)]
    pub(super) drive: Option<String>,
    /// The scale of the work: stated, as the study has it, or full, as in what it repeats, where
    /// its workloads have a `full` [default: stated].
    #[arg(long, value_name = "SCALE", value_parser = completion::choice::<Scale>(),
        hide_possible_values = true)]
    pub(super) scale: Option<Scale>,
    /// Number of blocks: how often each arm is measured.
    #[arg(long, value_name = "N")]
    pub(super) blocks: Option<u32>,
    /// Number of drives drawn from those that fit the profile, one for each block [default: the
    /// blocks, at least 20, if the profile leaves numbers open]; 1 for the median drive.
    #[arg(long, value_name = "N")]
    pub(super) specimens: Option<u32>,
    /// Run only these workloads, which must include that of the primary metric, without the curve.
    #[arg(long, value_name = "W,...", value_delimiter = ',')]
    pub(super) only: Vec<String>,
    /// Seed of all random choices.
    #[arg(long, value_name = "S")]
    pub(super) seed: Option<u64>,
    /// Results folder [default: drivelab-results/NAME, then NAME-2, ...].
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Continue an interrupted study with its original options.
    #[arg(long)]
    pub(super) resume: bool,
    /// At stages simulate and kernel: make each run twice, and name the first difference.
    #[arg(long)]
    pub(super) check_determinism: bool,
    /// At stage hardware: the file or device to measure, for arms that name none.
    #[arg(long, value_name = "FILE")]
    pub(super) target: Option<PathBuf>,
    /// At stage hardware: the size of the region [default: the whole file; a missing file is laid
    /// out at 1G].
    #[arg(long, value_name = "SIZE")]
    pub(super) size: Option<Bytes>,
    /// At stage hardware: confirm that you switched to this arm by hand.
    #[arg(long, value_name = "ARM")]
    pub(super) in_place: Option<String>,
    /// At stage hardware: allow writing workloads to destroy the contents of the file.
    #[arg(long)]
    pub(super) overwrite: bool,
    /// A name for the study in the archive.
    #[arg(long)]
    pub(super) label: Option<String>,
    #[command(flatten)]
    pub(super) keep: KeepArgs,
}

impl StudyArgs {
    /// The arguments that run an included study as in its file.
    pub(super) fn of_included(
        name: &str,
        (stage, scale): (StageName, Scale),
        folder: &std::path::Path,
        keep: KeepArgs,
    ) -> Self {
        Self {
            study: Some(name.to_owned()),
            stage: Some(stage),
            scale: Some(scale),
            out: Some(folder.to_owned()),
            keep,
            label: None,
            check_determinism: false,
            command: Vec::new(),
            prepare: None,
            list: false,
            print: false,
            explain: false,
            drive: None,
            blocks: None,
            specimens: None,
            only: Vec::new(),
            seed: None,
            resume: false,
            target: None,
            size: None,
            in_place: None,
            overwrite: false,
        }
    }
}

/// The name of a study of commands, and of its results folder.
pub(super) const COMMANDS: &str = "commands";

/// Name and text of the study that is asked for.
pub(super) fn asked_for(arguments: &StudyArgs) -> Result<(&str, String), Refusal> {
    if arguments.command.is_empty() {
        let name = arguments.study.as_deref().unwrap_or_default();
        return Ok((name, read(name)?));
    }
    if arguments.command.len() < 2 {
        let message = "a comparison needs two commands";
        return Err(Refusal::request(message).hint("add another: --command COMMAND"));
    }
    Ok((COMMANDS, quick(&arguments.command, arguments.prepare.as_deref())))
}

/// The text of a study: a file where there is one of this name, else one that comes with us.
pub(super) fn read(name: &str) -> Result<String, Refusal> {
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
        let message = format!("there is neither a study nor a file `{name}`");
        return Err(Refusal::request(message).hint(hint));
    }
    input::text(path, input::STUDY)
}
