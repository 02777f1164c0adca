//! The patience of ranks with one another, and the names that each fills in for itself.

use clap::Args;
use drivelab_core::Refusal;
use drivelab_core::units::Span;
use drivelab_study::ranks::Terms;

/// How long ranks wait for one another.
#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    /// How long the slowest rank may take to open or lay out its target, or to put an arm in place.
    #[arg(long, help_heading = "Hosts", value_name = "TIME", default_value = "10m")]
    pub(super) ready_within: Span,
    /// How long rank 0 waits for a rank after the end of the load, before it counts as lost.
    #[arg(long, help_heading = "Hosts", value_name = "TIME", default_value = "30s")]
    pub(super) patience: Span,
}

impl WaitArgs {
    /// The same with the name of this host.
    pub(super) fn terms(&self) -> Terms {
        terms(self.ready_within, self.patience)
    }
}

/// The terms of this host.
pub(super) fn terms(ready_within: Span, patience: Span) -> Terms {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Terms { host, ready_within, patience }
}

/// A name with the placeholders that each rank fills in for itself.
pub(super) fn of_rank(name: &str, rank: u32, host: &str) -> String {
    name.replace("{rank}", &rank.to_string()).replace("{host}", host)
}

/// A command of an arm, likewise; what is filled in is quoted for the shell.
pub(super) fn command_of_rank(command: &str, rank: u32, host: &str) -> Result<String, Refusal> {
    let number = rank.to_string();
    let values = [("rank", number.as_str()), ("host", host)];
    drivelab_study::command::substitute(command, &values)
}
