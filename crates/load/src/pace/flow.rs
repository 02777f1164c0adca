//! Jobs that keep their rates in proportion (fio's `flow`).
//!
//! As in fio, a job waits while its part of the requests of all jobs of the flow exceeds its part
//! of their weights. A job that ends takes its requests and its weight with it, so that the others
//! keep their proportion to one another.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use drivelab_core::JobSchedule;
use drivelab_core::units::{Span, Time};
use drivelab_core::workload::FlowShare;

/// Time between two looks of a job that is ahead of its share. fio looks without a pause, and takes
/// the processor from the jobs that it waits for.
const LOOK: Span = Span::from_us(10);

/// The flows of jobs that run together.
#[derive(Debug, Default)]
pub struct Flows(BTreeMap<u32, Flow>);

/// The sums of one flow.
#[derive(Debug, Default)]
struct Flow {
    requests: AtomicU64,
    /// As in fio, of 32 bits: the sum of a negative weight and others begins again at 0.
    weights: AtomicU32,
}

impl Flows {
    /// The flows of all jobs, each schedule with the number of its jobs.
    pub fn of(jobs: impl IntoIterator<Item = (JobSchedule, u32)>) -> Self {
        let mut flows = Self::default();
        for (share, numjobs) in jobs.into_iter().filter_map(|(it, jobs)| Some((it.flow?, jobs))) {
            debug_assert!(share.weight > 0, "a job without a weight has no flow");
            let weights = flows.0.entry(share.id).or_default().weights.get_mut();
            *weights = weights.wrapping_add(share.weight.wrapping_mul(numjobs));
        }
        flows
    }

    /// The part of one job with this schedule.
    pub fn part(&self, schedule: JobSchedule) -> Option<FlowPart<'_>> {
        let share = schedule.flow?;
        let flow = self.0.get(&share.id)?;
        Some(FlowPart { flow, share, requests: 0, pauses: Time::ZERO })
    }
}

/// A job's part of a flow.
#[derive(Debug, Clone, Copy)]
pub struct FlowPart<'a> {
    flow: &'a Flow,
    share: FlowShare,
    /// The requests that the job made.
    requests: u64,
    /// It does not look again before.
    pauses: Time,
}

impl FlowPart<'_> {
    /// The time at which a job that is ahead of its share looks again; `None` if it may send.
    #[inline]
    pub(crate) fn wait(&mut self, now: Time, outstanding: usize) -> Option<Time> {
        if now < self.pauses {
            return Some(self.pauses);
        }
        let all = u128::from(self.flow.requests.load(Ordering::Relaxed));
        let weights = u128::from(self.flow.weights.load(Ordering::Relaxed));
        let (own, weight) = (u128::from(self.requests), u128::from(self.share.weight));
        // fio counts one request more than were made, so that the first job may begin.
        if own * weights <= weight * (all + 1) {
            return None;
        }
        if self.share.sleep.is_zero() {
            return Some(now + LOOK);
        }
        // As in fio, a pause begins when nothing is outstanding.
        if outstanding > 0 {
            return Some(Time::MAX);
        }
        self.pauses = now + self.share.sleep;
        Some(self.pauses)
    }

    #[inline]
    pub(crate) fn sent(&mut self) {
        self.flow.requests.fetch_add(1, Ordering::Relaxed);
        self.requests += 1;
    }

    /// The job has ended.
    pub(crate) fn leave(&mut self) {
        let made = std::mem::take(&mut self.requests);
        let before = self.flow.requests.fetch_sub(made, Ordering::Relaxed);
        debug_assert!(before >= made, "its requests are among those of the flow");
        // Wraps around as the sum did.
        self.flow.weights.fetch_sub(self.share.weight, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(id: u32, weight: u32, sleep: Span) -> JobSchedule {
        JobSchedule { flow: Some(FlowShare { id, weight, sleep }), ..JobSchedule::default() }
    }

    /// The requests of jobs of these weights that take turns until one has made `most`.
    fn made(weights: &[u32], most: u64) -> Vec<u64> {
        let jobs: Vec<JobSchedule> =
            weights.iter().map(|weight| schedule(1, *weight, Span::ZERO)).collect();
        let flows = Flows::of(jobs.iter().map(|job| (*job, 1)));
        let mut parts: Vec<_> = jobs.iter().map(|job| flows.part(*job).unwrap()).collect();
        while parts.iter().all(|part| part.requests < most) {
            for part in &mut parts {
                if part.wait(Time::ZERO, 0).is_none() {
                    part.sent();
                }
            }
        }
        parts.iter().map(|part| part.requests).collect()
    }

    #[test]
    fn requests_are_in_proportion_to_the_weights() {
        // As in fio, which counts one request more than were made, a job may be one ahead.
        assert_eq!(made(&[3, 1], 300), [300, 101]);
        assert_eq!(made(&[1, 1, 2], 400), [201, 201, 400]);
    }

    #[test]
    fn a_job_that_ends_takes_its_weight_with_it() {
        let (heavy, light) = (schedule(1, 3, Span::ZERO), schedule(1, 1, Span::ZERO));
        let flows = Flows::of([(heavy, 1), (light, 1)]);
        let (mut heavy, mut light) = (flows.part(heavy).unwrap(), flows.part(light).unwrap());
        light.sent();
        assert_eq!(light.wait(Time::ZERO, 0), Some(Time::ZERO + LOOK));
        heavy.leave();
        for _ in 0..10 {
            assert_eq!(light.wait(Time::ZERO, 0), None);
            light.sent();
        }
        assert_eq!(flows.0[&1].requests.load(Ordering::Relaxed), 11);
    }

    #[test]
    fn a_pause_begins_when_nothing_is_outstanding() {
        let lazy = schedule(1, 1, Span::from_ms(5));
        let flows = Flows::of([(lazy, 1), (schedule(1, 1, Span::ZERO), 1)]);
        let mut lazy = flows.part(lazy).unwrap();
        lazy.sent();
        lazy.sent();
        let now = Time::ZERO + Span::from_ms(1);
        assert_eq!(lazy.wait(now, 1), Some(Time::MAX));
        assert_eq!(lazy.wait(now, 0), Some(now + Span::from_ms(5)));
        assert_eq!(lazy.wait(now + Span::from_ms(1), 0), Some(now + Span::from_ms(5)));
    }

    #[test]
    fn flows_with_other_numbers_are_apart() {
        let (one, other) = (schedule(1, 1, Span::ZERO), schedule(2, 1, Span::ZERO));
        let flows = Flows::of([(one, 1), (other, 1)]);
        let mut alone = flows.part(one).unwrap();
        (0..100).for_each(|_| alone.sent());
        assert_eq!(alone.wait(Time::ZERO, 0), None);
        assert!(flows.part(JobSchedule::default()).is_none());
    }
}
