//! Simulated requests per second of one core, by depth: `cargo bench -p drivelab-model`.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;

use drivelab_core::{Device, Lba, Op, Request, RequestId, Rng, Sectors, Time};
use drivelab_model::options::Options;
use drivelab_model::profile::Profile;
use drivelab_model::{Drive, build};

/// Requests of one measurement, and measurements of which the best is printed.
const REQUESTS: u64 = 400_000;
const REPEATS: u32 = 5;

/// Keeps `depth` random 4 KiB requests outstanding.
fn closed_loop(drive: &mut Drive, depth: u64, op: Op) {
    let mut rng = Rng::new(1);
    let slots = drive.capacity().get() / 8;
    let mut completed = Vec::with_capacity(64);
    let (mut now, mut next, mut finished) = (Time::ZERO, 0, 0);
    while finished < REQUESTS {
        while next < REQUESTS && next - finished < depth {
            let (lba, sectors) = (Lba::new(rng.below(slots) * 8), Sectors::new(8));
            let request =
                Request { id: RequestId(next), op, lba, sectors, fua: false, submitter: 0 };
            drive.submit(now, request).expect("the queue is far from full");
            next += 1;
        }
        now = drive.next_event().expect("requests are outstanding");
        drive.advance(now, &mut completed);
        finished += completed.len() as u64;
        black_box(&completed);
        completed.clear();
    }
}

#[expect(clippy::disallowed_types, reason = "a benchmark asks a clock")]
fn requests_per_s(profile: &Profile, options: &Options, depth: u64, op: Op) -> f64 {
    let run = || {
        let mut drive = build(profile, options, 1).expect("the options fit the drive");
        let began = std::time::Instant::now();
        closed_loop(&mut drive, depth, op);
        f64::from(u32::try_from(REQUESTS).expect("small")) / began.elapsed().as_secs_f64()
    };
    (0..REPEATS).map(|_| run()).fold(0.0, f64::max)
}

fn main() {
    for name in ["seagate-st31000333as", "generic-10k", "fixed"] {
        let profile = Profile::embedded(name).expect("the profile comes with drivelab");
        for (op, what) in [(Op::Read, "read"), (Op::Write, "write")] {
            for depth in [1, 2, 8, 32] {
                let rate = requests_per_s(&profile, &Options::default(), depth, op);
                println!("{name:22} random {what:5} depth {depth:2} {rate:12.0} requests/s");
            }
        }
    }
}
