//! `run --in kernel`: the run is made in a guest.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use drivelab_core::record::RunRecord;
use drivelab_core::units::Span;

use super::workload::WorkloadArgs;
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

/// What a run in a guest is given.
#[derive(Debug)]
pub(super) struct Load<'a> {
    pub(super) target: &'a str,
    pub(super) workload: &'a WorkloadArgs,
    pub(super) seed: u64,
    /// The other options, as they can be given again.
    pub(super) options: Vec<String>,
}

/// Makes the run in a guest.
pub(super) fn run(load: Load<'_>, within: &WithinArgs) -> Result<RunRecord, Failure> {
    let Target::Drive(spec) = target::parse(load.target)? else {
        let message =
            format!("`{}` is not a modelled drive, and `--in kernel` needs one", load.target);
        return Err(Failure::bad_words(message)
            .hint("name one: drive:NAME; `drivelab drive list` shows them"));
    };
    let workload = load.workload.0.clone().check()?;
    let profile = target::profile(&spec)?;
    for path in [&within.trace, &within.console].into_iter().flatten() {
        output::refuse_other(path, &output::GUEST)?;
    }
    let kernel = kernel::find(&kernel::cache(None)?)?;
    kernel::run(&Inside {
        kernel: &kernel,
        spec: &spec,
        profile: &profile,
        seed: load.seed,
        workload: &workload,
        options: load.options,
        limit: within.wall_limit,
        trace: within.trace.clone(),
        console: within.console.clone(),
    })
}
