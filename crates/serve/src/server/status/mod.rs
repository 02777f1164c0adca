//! The status of a server.

mod announcement;
mod summary;

use drivelab_core::Time;
use drivelab_core::record::Served;
use serde::Serialize;

use super::shutdown::ForcedUnmount;
use crate::fault::Listed;
use crate::store::Survival;

/// The answer to `GET /stats`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Number of requests, including flushes and trims, and the lateness of their answers.
    #[serde(flatten)]
    pub served: Served,
    /// Maximum number of requests in flight.
    pub in_flight_max: usize,
    /// The source of the lateness bound: `option`, `drive` or `host`.
    pub lateness_bound_from: &'static str,
    /// Time at which these counts began, from the server's beginning.
    pub since_ns: u64,
    /// Acknowledged data that is not durable, in bytes.
    pub pending_bytes: u64,
    /// Number of open connections.
    pub clients: usize,
    /// Bytes of requests and replies held for them.
    pub clients_bytes: usize,
    /// True if the host's processors are kept from sleeping while requests arrive.
    pub keeps_awake: bool,
    /// Time before a deadline at which the loop now wakes up and spins.
    pub early_ns: u64,
}

/// The reason why the server stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// By request; everything acknowledged is on the medium.
    Asked,
    /// The power was cut.
    PowerCut {
        /// The data that it lost.
        survival: Survival,
        /// Time of the cut.
        at: Time,
        /// The seed of the survivors.
        seed: u64,
    },
}

/// The end of a server.
#[derive(Debug)]
pub struct Summary {
    /// The reason why it ended.
    pub stopped: Stopped,
    /// Its statistics until then.
    pub stats: Stats,
    /// The active faults, with their strikes.
    pub faults: Vec<Listed>,
    /// Set if the drive's file was open when it was unmounted.
    pub forced_unmount: Option<ForcedUnmount>,
}
