//! What the load loop itself costs: requests a second against a drive that does nothing.
//!
//! `cargo bench -p drivelab-engine --bench virtual_loop`; one line a depth. The model's budget is
//! a million requests a second at depth 1 altogether, so the loop has to stay far above it.

use std::io::Write as _;
use std::sync::atomic::AtomicBool;

use drivelab_core::Control;
use drivelab_core::Device;
use drivelab_core::request::{Completion, Request, ServedBy};
use drivelab_core::units::{Bytes, Sectors, Span, Time};
use drivelab_core::workload::WorkloadOptions;
use drivelab_load::{VirtualJobs, VirtualTarget, simulate};

/// Requests of one measurement.
const REQUESTS: u64 = 5_000_000;
const ROUNDS: usize = 7;

/// Answers every request 100 us later, in order: a ring buffer and nothing else.
struct Idle {
    at: Vec<(Time, Request)>,
    first: usize,
    end: usize,
}

impl Device for Idle {
    fn capacity(&self) -> Sectors {
        Sectors::holding(Bytes::gib(100))
    }

    fn submit(&mut self, now: Time, request: Request) -> Result<(), Request> {
        let slot = self.end % self.at.len();
        self.at[slot] = (now + Span::from_us(100), request);
        self.end += 1;
        Ok(())
    }

    fn next_event(&self) -> Option<Time> {
        (self.first < self.end).then(|| self.at[self.first % self.at.len()].0)
    }

    fn advance(&mut self, now: Time, completed: &mut Vec<Completion>) {
        while self.first < self.end && self.at[self.first % self.at.len()].0 <= now {
            let (at, request) = self.at[self.first % self.at.len()];
            self.first += 1;
            let (result, served_by) = (Ok(()), ServedBy::Medium);
            completed.push(Completion { id: request.id, at, result, served_by });
        }
    }
}

#[expect(clippy::disallowed_types, reason = "a benchmark asks a clock")]
fn million_per_s(iodepth: u32) -> f64 {
    let options = WorkloadOptions {
        iodepth: Some(iodepth),
        runtime: Some(Span::from_secs(100_000)),
        number_ios: Some(REQUESTS),
        ..Default::default()
    };
    let workload = options.check().expect("the options are complete");
    let empty = (Time::ZERO, Request::flush(0));
    let device = Idle { at: vec![empty; 1024], first: 0, end: 0 };
    let stop = AtomicBool::new(false);
    let control = Control::silent(&stop);
    let began = std::time::Instant::now();
    let (mut target, jobs) = (VirtualTarget::new(device), [VirtualJobs::one(&workload, 1)]);
    let done = simulate(&mut target, &jobs, &control).expect("the workload fits the drive");
    assert_eq!(done[0].jobs[0].ios(), REQUESTS);
    5.0 / began.elapsed().as_secs_f64()
}

fn main() {
    let mut out = std::io::stdout();
    for iodepth in [1, 32, 128] {
        let mut rates: Vec<f64> = (0..ROUNDS).map(|_| million_per_s(iodepth)).collect();
        rates.sort_by(f64::total_cmp);
        let (least, median, most) = (rates[0], rates[ROUNDS / 2], rates[ROUNDS - 1]);
        writeln!(
            out,
            "depth {iodepth:>3}: {median:.1} M requests/s (least {least:.1}, most {most:.1}, \
             {ROUNDS} rounds)"
        )
        .expect("standard output takes a line");
    }
}
