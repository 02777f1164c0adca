//! One file a verb: its arguments, whose comments are its help, and what it does.

pub(crate) mod compare;
pub(crate) mod completion;
pub(crate) mod drive;
pub(crate) mod durability;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod replay;
pub(crate) mod results;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod study;

use crate::arguments::Command;
use crate::failure::Outcome;
use crate::ui::Ui;

/// Carries out one verb.
pub(crate) fn run(command: Command, ui: Ui) -> Outcome {
    match command {
        Command::Study(arguments) => study::run(&arguments, ui),
        Command::Run(arguments) => run::run(*arguments, ui),
        Command::Compare(arguments) => compare::run(&arguments, ui),
        Command::Import(arguments) => import::import(&arguments, ui),
        Command::Export(arguments) => import::export(&arguments, ui),
        Command::Show(arguments) => show::run(&arguments, ui),
        Command::Serve(arguments) => serve::run(&arguments, ui),
        Command::Durability(arguments) => durability::run(&arguments, ui),
        Command::Drive(arguments) => drive::run(arguments, ui),
        Command::Inspect(arguments) => inspect::run(&arguments, ui),
        Command::Replay(arguments) => replay::run(&arguments, ui),
        Command::Completions(arguments) => generate::completions(&arguments),
        Command::Man(arguments) => generate::man(&arguments, ui),
    }
}

/// A JSON document as it is printed.
pub(crate) fn json_text(document: &serde_json::Value) -> String {
    serde_json::to_string_pretty(document).expect("plain data is always JSON")
}
