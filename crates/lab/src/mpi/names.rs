//! The names that each rank fills in for itself.

use drivelab_core::Refusal;
use drivelab_core::units::Span;
use drivelab_study::ranks::Terms;

/// The terms of this host.
pub fn terms(ready_within: Span, patience: Span) -> Terms {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Terms { host, ready_within, patience }
}

/// A name with the placeholders that each rank fills in for itself.
pub fn of_rank(name: &str, rank: u32, host: &str) -> String {
    name.replace("{rank}", &rank.to_string()).replace("{host}", host)
}

/// A command of an arm, likewise; what is filled in is quoted for the shell.
pub fn command_of_rank(command: &str, rank: u32, host: &str) -> Result<String, Refusal> {
    let number = rank.to_string();
    let values = [("rank", number.as_str()), ("host", host)];
    drivelab_study::command::substitute(command, &values)
}
