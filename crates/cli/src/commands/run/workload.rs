//! Workload options of the command line, as core declares them.

use clap::builder::{NonEmptyStringValueParser, TypedValueParser as _};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use drivelab_core::workload::{OPTIONS, Rw, WorkloadOption, WorkloadOptions};

use crate::commands::completion::{self, Offer};

/// The load on the drive, with the defaults of the flags.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkloadArgs(pub(crate) WorkloadOptions, Vec<(&'static str, String)>);

impl WorkloadArgs {
    /// True if the user gave this option.
    pub(crate) fn is_typed(&self, name: &str) -> bool {
        self.1.iter().any(|(typed, _)| *typed == name)
    }
}

/// The options that are flags.
pub(crate) fn flags() -> impl Iterator<Item = &'static WorkloadOption> {
    OPTIONS.iter().filter(|option| option.is_flag)
}

/// The options that a job file or a matrix sets itself, besides the workload.
const ELSEWHERE: [&str; 24] = [
    "ioengine",
    "hipri",
    "sqthread_poll",
    "stamp",
    "direct",
    "invalidate",
    "numjobs",
    "seed",
    "label",
    "verify",
    "verify_only",
    "verify_state",
    "power_was_cut",
    "environment",
    "filesystem",
    "mount_options",
    "disks",
    "stack",
    "memory",
    "processor",
    "kernel",
    "wall_limit",
    "trace",
    "console",
];

/// The options that a suite would ignore.
pub(super) fn of_one_load() -> impl Iterator<Item = &'static str> {
    let own = [
        "seed",
        "label",
        "environment",
        "filesystem",
        "mount_options",
        "disks",
        "stack",
        "memory",
        "processor",
        "kernel",
    ];
    let of_guest = ["wall_limit", "trace", "console"];
    let is_own = move |name: &&str| own.contains(name) || of_guest.contains(name);
    ELSEWHERE.into_iter().filter(move |name| !is_own(name))
}

/// The options that a job file or a matrix would ignore.
pub(super) fn of_single_runs() -> impl Iterator<Item = &'static str> {
    flags().map(|option| option.name).chain(ELSEWHERE)
}

fn argument(option: &'static WorkloadOption) -> Arg {
    let check = move |value: String| option.check(&value).map(|()| value);
    let mut argument = Arg::new(option.name)
        .long(option.name.replace('_', "-"))
        .aliases(option.aliases)
        .help(option.help.trim().trim_end_matches('.'))
        .help_heading("Workload (fio's names)")
        .hide_possible_values(true);
    argument = if option.name == "rw" {
        argument.value_parser(Offer(completion::choices::<Rw>).try_map(check))
    } else {
        argument.value_parser(NonEmptyStringValueParser::new().try_map(check))
    };
    if option.name.contains('_') {
        argument = argument.alias(option.name);
    }
    let value = option.value_name.map_or_else(|| option.name.to_uppercase(), str::to_owned);
    argument = argument.value_name(value);
    if let Some(default) = option.default {
        argument = argument.default_value(default);
    }
    if option.is_switch {
        let alone = argument.value_name("0|1").num_args(0..=1).require_equals(true);
        argument = alone.default_missing_value("1");
    }
    argument
}

impl Args for WorkloadArgs {
    fn augment_args(command: Command) -> Command {
        command.args(flags().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for WorkloadArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut arguments = Self::default();
        arguments.update_from_arg_matches(matches)?;
        Ok(arguments)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for option in flags() {
            if let Some(value) = matches.get_one::<String>(option.name) {
                if matches.value_source(option.name) == Some(ValueSource::CommandLine) {
                    self.1.push((option.name, value.clone()));
                }
                let set = self.0.set(option.name, value);
                set.map_err(|wrong| Error::raw(ErrorKind::ValueValidation, wrong))?;
            }
        }
        Ok(())
    }
}
