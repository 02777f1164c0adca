//! `run --in kernel`: the run is made in a guest.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use drivelab_core::record::RunRecord;
use drivelab_core::units::Span;

use super::RunArgs;
use crate::commands::lab;
use crate::failure::Failure;
use crate::output;
use crate::stage::kernel::{self, Inside};
use crate::target::{self, Target};

/// Where a run is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Place {
    /// A real Linux kernel in virtual time.
    Kernel,
}

/// What concerns files and devices of this machine; verification would need a file in the guest.
const NOT_INSIDE: [&str; 8] = [
    "hipri",
    "sqthread_poll",
    "overwrite",
    "allow_destructive",
    "verify",
    "verify_only",
    "verify_state",
    "power_was_cut",
];

/// The place of a run, and what is kept of it.
#[derive(Debug, Args)]
pub(crate) struct WithinArgs {
    /// Make the run in a real Linux kernel in virtual time, on a modelled drive (see `lab setup`).
    #[arg(long = "in", value_name = "PLACE", conflicts_with_all = NOT_INSIDE)]
    pub(super) place: Option<Place>,
    /// With --in: end the guest after this much real time.
    #[arg(long, value_name = "TIME", requires = "place", default_value = "10m")]
    wall_limit: Span,
    /// With --in: write every request with its virtual times to this file.
    #[arg(long, value_name = "FILE", requires = "place")]
    trace: Option<PathBuf>,
    /// With --in: write what the guest prints to this file.
    #[arg(long, value_name = "FILE", requires = "place")]
    console: Option<PathBuf>,
}

/// Makes the run in a guest.
pub(super) fn run(target: &str, arguments: &RunArgs) -> Result<RunRecord, Failure> {
    let Target::Drive(spec) = target::parse(target)? else {
        let message = format!("`{target}` is not a modelled drive, and `--in kernel` needs one");
        return Err(Failure::bad_words(message)
            .hint("name one: drive:NAME; `drivelab drive list` shows them"));
    };
    arguments.workload.0.clone().check().map_err(Failure::bad_request)?;
    let within = &arguments.within;
    for path in [&within.trace, &within.console].into_iter().flatten() {
        output::refuse_other(path, &output::GUEST)?;
    }
    let kernel = lab::find(&lab::cache(None)?)?;
    kernel::run(&Inside {
        kernel: &kernel,
        spec: &spec,
        seed: arguments.seed,
        arguments: passed_on(arguments),
        limit: within.wall_limit,
        trace: within.trace.as_deref().map(Path::new),
        console: within.console.as_deref().map(Path::new),
    })
}

/// What the run in the guest is given.
fn passed_on(arguments: &RunArgs) -> Vec<String> {
    let mut passed: Vec<String> = arguments.workload.typed().collect();
    passed.extend(arguments.ioengine.map(|engine| format!("--ioengine={engine}")));
    passed.push(format!("--numjobs={}", arguments.numjobs));
    passed.push(format!("--seed={}", arguments.seed));
    passed.push(format!("--stamp={}", arguments.stamp));
    passed.push(format!("--direct={}", u8::from(arguments.direct)));
    passed.push(format!("--invalidate={}", u8::from(arguments.invalidate)));
    passed
}
