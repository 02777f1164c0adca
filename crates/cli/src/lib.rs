//! The command line of drivelab: arguments to typed config to call to render to exit code.
//!
//! The program is this library's [`main`].

mod arguments;
mod commands;
mod exit;
#[cfg(feature = "mpi")]
pub mod mpi;
mod output;
mod ui;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};
use drivelab_core::RefusalKind;
use drivelab_lab::interrupt;

use crate::arguments::{Arguments, Command};
use crate::commands::{
    archive, compare, crash, drive, durability, fleet as fleets, generate, guest, import, inspect,
    replay, report, run, serve, show, study, sweep, view,
};
use crate::exit::{Exit, Outcome};
use crate::ui::Ui;

/// Runs the program with the process's arguments.
pub fn main() -> ExitCode {
    ui::show_panics();
    drivelab_engine::expect_children();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let negative = arguments::negative(&error, std::env::args_os());
            let error = arguments::shown_plainly(error, std::env::args_os());
            let failure = negative.or_else(|| arguments::wrong_value(&error));
            return match failure.or_else(|| arguments::inner_verb(&error)) {
                Some(failure) => ui::show_failure(&failure).into(),
                None => ui::show_usage(&error),
            };
        }
    };
    // A panic is our bug and has an exit code of its own, so that scripts can tell.
    match std::panic::catch_unwind(|| begin(arguments)) {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(failure)) => ui::show_failure(&failure).into(),
        Err(_) => ui::show_bug().into(),
    }
}

fn begin(arguments: Arguments) -> Outcome {
    let ui = Ui::new(arguments.json);
    ui::show(arguments.progress);
    ui::signals::listen();
    // A server runs until a signal ends it: what fails then fails for its own reason.
    let ends_by_signal = matches!(arguments.command, Command::Serve(_) | Command::View(_));
    let outcome = carry_out(arguments.command, ui).or_else(Exit::unless_pipe_closed);
    // From here on the exit code is that of the verb.
    std::mem::forget(interrupt::shield());
    outcome.map_err(|refusal| {
        // What a verb that was interrupted could not do, it was not let do.
        let cut_short = interrupt::requested() && !ends_by_signal;
        let kind = if cut_short { RefusalKind::Interrupted } else { refusal.kind };
        refusal.with_kind(kind)
    })
}

/// Carries out one verb.
fn carry_out(command: Command, ui: Ui) -> Outcome {
    match command {
        Command::Study(arguments) => study::run(&arguments, ui),
        Command::Run(arguments) => run::run(*arguments, ui),
        Command::Compare(arguments) => compare::run(&arguments, ui),
        Command::Import(arguments) => import::import(&arguments, ui),
        Command::Export(arguments) => import::export(&arguments, ui),
        Command::Show(arguments) => show::run(&arguments, ui),
        Command::Report(arguments) => report::run(&arguments, ui),
        Command::Serve(arguments) => serve::run(&arguments, ui),
        Command::Durability(arguments) => durability::run(&arguments, ui),
        Command::Crash(arguments) => crash::run(&arguments, ui),
        Command::Drive(arguments) => drive::run(arguments, ui),
        Command::Inspect(arguments) => inspect::run(&arguments, ui),
        Command::Articles(arguments) => study::articles::run(&arguments, ui),
        Command::Advise(arguments) => inspect::advise::run(&arguments, ui),
        Command::Sweep(arguments) => sweep::run(arguments, ui),
        Command::Fleet(arguments) => fleets::run(arguments, ui),
        Command::Replay(arguments) => replay::run(&arguments, ui),
        Command::Guest(arguments) => guest::run(arguments, ui),
        Command::History(arguments) => archive::history::run(arguments, ui),
        Command::Label(arguments) => archive::label::run(&arguments, ui),
        Command::Delete(arguments) => archive::delete::run(&arguments, ui),
        Command::Archive(arguments) => archive::run(&arguments, ui),
        Command::View(arguments) => view::run(&arguments, ui),
        Command::Completions(arguments) => {
            generate::completions(&arguments, Arguments::command(), ui)
        }
        Command::Man(arguments) => generate::man(&arguments, Arguments::command(), ui),
    }
}
