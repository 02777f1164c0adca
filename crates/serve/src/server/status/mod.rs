//! What a server tells about itself.

mod announcement;
mod summary;

use drivelab_core::Time;
use drivelab_core::record::Served;
use serde::Serialize;

use super::farewell::TakenAway;
use crate::fault::Listed;
use crate::store::Survival;

/// The answer to `GET /stats`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Requests, flushes and trims included, and how late their answers were.
    #[serde(flatten)]
    pub served: Served,
    /// The most that were on their way at once.
    pub in_flight_max: usize,
    /// Where the bound of lateness comes from: `option`, `drive` or `host`.
    pub lateness_bound_from: &'static str,
    /// Since when all of this was counted, from the server's beginning.
    pub since_ns: u64,
    /// Acknowledged data that is not durable, in bytes.
    pub pending_bytes: u64,
    /// Connections that are open.
    pub clients: usize,
    /// Bytes of requests and replies that are kept for them.
    pub clients_bytes: usize,
    /// Whether the host's processors are kept from sleeping while requests come.
    pub keeps_awake: bool,
    /// How long before a deadline the loop now wakes up and spins.
    pub early_ns: u64,
}

/// Why the server stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// It was asked to; everything acknowledged is on the medium.
    Asked,
    /// The power was cut.
    PowerCut {
        /// What it took.
        survival: Survival,
        /// When.
        at: Time,
        /// What chose the survivors.
        seed: u64,
    },
}

/// The end of a server.
#[derive(Debug)]
pub struct Summary {
    /// Why it ended.
    pub stopped: Stopped,
    /// What it did until then.
    pub stats: Stats,
    /// The faults that were in force, with their strikes.
    pub faults: Vec<Listed>,
    /// The drive's file was open when it was unmounted.
    pub taken_away: Option<TakenAway>,
}
