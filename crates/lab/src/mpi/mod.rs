//! Runs and studies of many hosts that MPI has started.

mod kept;
mod names;
mod order;
mod ranks;

pub use kept::{keep, kept};
pub use names::{command_of_rank, of_rank, terms};
pub use order::Order;
pub use ranks::Mpi;
