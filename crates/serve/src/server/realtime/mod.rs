//! Being on time: the clock, requests to the host, and the measured lateness.
//!
//! A server is late for three reasons. The host does not schedule it when its timer expires:
//! `scheduling`. The processor is in a sleep state and takes time to wake up: `cpu_latency`. The
//! loop compensates for the rest by waking early and spinning: `spin_policy`.

mod clock;
mod cpu_latency;
mod lateness;
mod round_trip;
mod scheduling;
mod spin_policy;
mod wakeup_latency;

use drivelab_core::record::{Latency, Served};
use drivelab_core::{Histogram, Span, Time};

pub(super) use clock::Clock;
use cpu_latency::CpuLatencyRequest;
use lateness::Lateness;
pub use lateness::LatenessBound;
pub use round_trip::{falls_short, why_void};
pub(super) use scheduling::Scheduling;
pub use spin_policy::Spin;
use spin_policy::SpinPolicy;
pub use wakeup_latency::{least_answer_time, typical_read};

/// The means that keep a server on time, and its remaining lateness.
#[derive(Debug)]
pub(super) struct Timing {
    pub(super) spin: SpinPolicy,
    pub(super) cpu_latency: CpuLatencyRequest,
    pub(super) lateness: Lateness,
    /// Time of the drive according to its model.
    pub(super) modelled: Histogram,
    pub(super) scheduling: Scheduling,
}

impl Timing {
    /// Requests real-time scheduling of this thread from the host, if wanted.
    pub(super) fn new(real_time: bool, spin: Spin, bound: LatenessBound) -> Self {
        let scheduling = if real_time {
            Scheduling::ask_for_fifo()
        } else {
            Scheduling::Normal("real-time scheduling was not requested".to_owned())
        };
        Self {
            spin: SpinPolicy::new(spin),
            cpu_latency: CpuLatencyRequest::new(real_time),
            lateness: Lateness::new(bound, scheduling == Scheduling::Fifo),
            modelled: Histogram::new(),
            scheduling,
        }
    }

    pub(super) fn request_arrived(&mut self, now: Time) {
        self.spin.request_arrived(now);
        self.cpu_latency.busy(now);
    }

    /// Records that the answers that were `due` at these times were sent at `now`.
    pub(super) fn answers_sent(&mut self, now: Time, due: &mut Vec<Time>) {
        if !due.is_empty() {
            due.drain(..).for_each(|due| self.lateness.record(now.since(due)));
            self.spin.answered(now);
        }
    }

    /// Returns a summary of `ios` served requests.
    pub(super) fn served(&self, ios: u64) -> Served {
        Served {
            ios,
            lateness_ns: self.lateness.quantiles(),
            model_ns: Some(Latency::of(&self.modelled)),
            lateness_bound_ns: self.lateness.bound().ns(),
            late: self.lateness.late(),
            added_ns: self.lateness.added().map(Span::ns),
            valid: self.lateness.is_valid(self.modelled.mean().unwrap_or(Span::ZERO)),
            scheduling: self.scheduling.name().to_owned(),
        }
    }
}
