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

use drivelab_core::RefusalKind;
use drivelab_lab::interrupt;

use crate::arguments::{Arguments, Verb};
use crate::commands::{
    archive, compare, cost, crash, drive, durability, fleet as fleets, generate, guest, import,
    inspect, replay, report, run, serve, show, study, sweep, view,
};
use crate::exit::{Exit, Outcome};
use crate::ui::Ui;

/// Runs the program with the process's arguments.
pub fn main() -> ExitCode {
    ui::show_panics();
    drivelab_engine::expect_children();
    let arguments = match arguments::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(error) => {
            let negative = arguments::negative(&error, std::env::args_os());
            let error = arguments::shown_plainly(error, std::env::args_os());
            let failure = negative.or_else(|| arguments::wrong_value(&error));
            let failure = failure.or_else(|| arguments::of_fio(&error, std::env::args_os()));
            return match failure.or_else(|| arguments::inner_verb(&error)) {
                Some(failure) => ui::show_failure(&failure).into(),
                None => ui::show_usage(&error),
            };
        }
    };
    // A panic is our bug. Its exit code is distinct, so that scripts can recognize it.
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
    let ends_by_signal = matches!(arguments.command, Verb::Serve(_) | Verb::View(_));
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
fn carry_out(command: Verb, ui: Ui) -> Outcome {
    match command {
        Verb::Study(arguments) => study::run(&arguments, ui),
        Verb::Run(arguments) => run::run(*arguments, ui),
        Verb::Fio(arguments) => run::fio::run(&arguments, ui),
        Verb::Compare(arguments) => compare::run(&arguments, ui),
        Verb::Explain(arguments) => study::explain::run(&arguments, ui),
        Verb::Import(arguments) => import::import(&arguments, ui),
        Verb::Export(arguments) => import::export(&arguments, ui),
        Verb::Show(arguments) => show::run(&arguments, ui),
        Verb::Report(arguments) => report::run(&arguments, ui),
        Verb::Serve(arguments) => serve::run(&arguments, ui),
        Verb::Durability(arguments) => durability::run(&arguments, ui),
        Verb::Crash(arguments) => crash::run(&arguments, ui),
        Verb::Cost(arguments) => cost::run(*arguments, ui),
        Verb::Drive(arguments) => drive::run(arguments, ui),
        Verb::Inspect(arguments) => inspect::run(&arguments, ui),
        Verb::Articles(arguments) => study::articles::run(&arguments, ui),
        Verb::Advise(arguments) => inspect::advise::run(&arguments, ui),
        Verb::Sweep(arguments) => sweep::run(arguments, ui),
        Verb::Fleet(arguments) => fleets::run(arguments, ui),
        Verb::Replay(arguments) => replay::run(&arguments, ui),
        Verb::Guest(arguments) => guest::run(arguments, ui),
        Verb::History(arguments) => archive::history::run(arguments, ui),
        Verb::Label(arguments) => archive::label::run(&arguments, ui),
        Verb::Delete(arguments) => archive::delete::run(&arguments, ui),
        Verb::Archive(arguments) => archive::run(&arguments, ui),
        Verb::View(arguments) => view::run(&arguments, ui),
        Verb::Completions(arguments) => generate::completions(&arguments, arguments::whole(), ui),
        Verb::Man(arguments) => generate::man(&arguments, arguments::whole(), ui),
    }
}
