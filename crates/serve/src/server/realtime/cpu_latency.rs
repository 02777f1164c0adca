//! Keeps the processors from deep sleep states while there are deadlines.

use std::fs::File;
use std::io::Write;

use drivelab_core::{Span, Time};

/// The kernel's request for a maximum wake-up latency, in force while the file is open
/// (`Documentation/power/pm_qos_interface.rst` in its sources).
const REQUEST: &str = "/dev/cpu_dma_latency";

/// After this time without a request the processors may sleep again.
const PATIENCE: Span = Span::from_secs(1);

/// Requests the shortest wake-up latency from the kernel while clients send requests.
#[derive(Debug)]
pub(in crate::server) struct CpuLatencyRequest {
    /// True if it is requested at all: not after the host refused.
    asks: bool,
    held: Option<File>,
    last_request: Time,
}

impl CpuLatencyRequest {
    pub(in crate::server) fn new(wanted: bool) -> Self {
        // Tried once: opening the file needs a privilege that does not come later.
        Self { asks: wanted && hold().is_some(), held: None, last_request: Time::ZERO }
    }

    pub(in crate::server) fn is_permitted(&self) -> bool {
        self.asks
    }

    pub(in crate::server) fn busy(&mut self, now: Time) {
        self.last_request = now;
        if self.asks && self.held.is_none() {
            self.held = hold();
        }
    }

    /// Lets the processors sleep if there was no request for a while, with nothing in flight.
    pub(in crate::server) fn idle(&mut self, now: Time) {
        if self.held.is_some() && now >= self.last_request + PATIENCE {
            self.held = None;
        }
    }
}

/// The request, if the host accepts it: only root may make it.
fn hold() -> Option<File> {
    let mut file = File::options().write(true).open(REQUEST).ok()?;
    // Microseconds, in the host's byte order.
    file.write_all(&0_i32.to_ne_bytes()).ok()?;
    Some(file)
}
