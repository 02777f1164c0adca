//! The patience of ranks with one another, and the names that each fills in for itself.

use clap::Args;
use drivelab_core::units::Span;
use drivelab_lab::mpi;
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
        mpi::terms(self.ready_within, self.patience)
    }
}
