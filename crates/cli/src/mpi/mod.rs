//! `drivelab-mpi`: one load from many hosts at the same time, started by `mpirun` or `srun`.

mod collect;
mod line;
mod run;
mod show;
mod study;
mod sweep;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::collect::CollectArgs;
use self::run::HostsRunArgs;
use self::study::HostsStudyArgs;
use self::sweep::RanksSweepArgs;
use crate::exit::{Exit, Outcome};
use crate::ui::{self, Ui};
use drivelab_core::RefusalKind;
use drivelab_lab::interrupt;

/// A laboratory for disks: one load from many hosts.
///
/// Every process is one host, or a part of one. All of them take what rank 0 was given.
#[derive(Debug, Parser)]
#[command(name = "drivelab-mpi", version = env!("DRIVELAB_VERSION"), max_term_width = 100)]
#[command(after_help = "\
Examples:
  mpirun --enable-recovery --host a,b drivelab-mpi run /mnt/file-{rank} --size 1G --rw randread
  mpirun --enable-recovery --host a,b drivelab-mpi study study.toml --target /mnt/file-{rank}
  srun --mpi=pmix --ntasks-per-node 1 drivelab-mpi run /dev/nvme0n1 --rw randread --json
  mpirun drivelab-mpi sweep sweep.toml
  drivelab-mpi collect drivelab-hosts/2026-11-23T22-35-00

Exit codes: those of drivelab; 5: ranks were lost, and the figures are those of the others.")]
struct Arguments {
    /// Print one JSON document instead of text.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Run(Box<HostsRunArgs>),
    Study(Box<HostsStudyArgs>),
    Collect(CollectArgs),
    Sweep(RanksSweepArgs),
}

/// Runs the program with the process's arguments.
pub fn main() -> ExitCode {
    drivelab_engine::expect_children();
    if launched_as().is_some() {
        // Open MPI gives a rank a terminal, and writes what it reads there into a file, too.
        anstream::ColorChoice::Never.write_global();
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // All ranks were given the same.
        Err(_) if !is_first() => return Exit::BadRequest.into(),
        Err(error) => return ui::show_usage(&error),
    };
    match std::panic::catch_unwind(|| begin(arguments)) {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(failure)) => ui::show_failure(&failure).into(),
        Err(_) => ui::show_bug().into(),
    }
}

/// True if this is rank 0.
fn is_first() -> bool {
    launched_as().is_none_or(|rank| rank == "0")
}

/// The rank, by what Open MPI, MPICH or Slurm says before the library is there.
fn launched_as() -> Option<String> {
    let names = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"];
    names.into_iter().find_map(|name| std::env::var(name).ok())
}

fn begin(arguments: Arguments) -> Outcome {
    let ui = Ui::new(arguments.json);
    ui::signals::listen();
    let outcome = match arguments.verb {
        Verb::Run(arguments) => run::run(*arguments, ui),
        Verb::Study(arguments) => study::run(&arguments, ui),
        Verb::Collect(arguments) => collect::run(&arguments, ui),
        Verb::Sweep(arguments) => sweep::run(&arguments, ui),
    };
    outcome.map_err(|failure| {
        let kind = if interrupt::requested() { RefusalKind::Interrupted } else { failure.kind };
        failure.with_kind(kind)
    })
}
