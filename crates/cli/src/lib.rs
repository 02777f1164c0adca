//! The command line of drivelab: arguments to typed config to call to render to exit code.
//!
//! The program is this library's [`main`].

mod arguments;
mod attached;
mod commands;
mod failure;
mod input;
mod interrupt;
mod kernel_log;
mod measure;
mod output;
mod stage;
mod target;
mod ui;

use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::Arguments;
use crate::failure::{Exit, Failure, Outcome};

/// Runs the program with the process's arguments.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => match arguments::negative(&error, std::env::args_os()) {
            Some(failure) => return ui::show_failure(&failure).into(),
            None => return ui::show_usage(&arguments::shown_plainly(error, std::env::args_os())),
        },
    };
    // A panic is our bug and has an exit code of its own, so that scripts can tell.
    match std::panic::catch_unwind(|| run(arguments)) {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(failure)) => ui::show_failure(&failure).into(),
        Err(_) => ui::show_bug().into(),
    }
}

fn run(arguments: Arguments) -> Outcome {
    let ui = ui::Ui::new(arguments.json);
    interrupt::listen();
    // A server runs until a signal ends it: what fails then fails for its own reason.
    let ends_by_signal = matches!(arguments.command, arguments::Command::Serve(_));
    let outcome = commands::run(arguments.command, ui).or_else(Exit::unless_pipe_closed);
    // From here on the exit code is that of the verb.
    std::mem::forget(interrupt::shield());
    outcome.map_err(|failure| {
        // What a verb that was interrupted could not do, it was not let do.
        let cut_short = interrupt::requested() && !ends_by_signal;
        let exit = if cut_short { Exit::Interrupted } else { failure.exit };
        Failure { exit, ..failure }
    })
}
