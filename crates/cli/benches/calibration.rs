//! Whether the 95 % of a prediction are 95 %: drives are drawn from a prior, measured as `drive
//! measure` does, fitted, predicted, and asked.
//!
//! `cargo bench -p drivelab --bench calibration [-- DRIVES]`; 200 drives take some minutes.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot go on has failed")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use drivelab_core::units::{Bytes, Span};
use drivelab_core::workload::WorkloadOptions;
use drivelab_engine::{Control, VirtualJobs, VirtualTarget, simulate};
use drivelab_model::options::Options;
use drivelab_model::profile::Profile;
use drivelab_model::{Specimens, fit};
use drivelab_probe::{Settings, Watch};
use drivelab_stats::predict;

/// Drives that the fit knows nothing of but their kind: the prior of docs/internals/drive-facts.md.
const PRIOR: &str = "base = \"seagate-st31000333as\"\n\
    seek_short = { median = \"2.3ms\", sigma = 0.45, min = \"0.7ms\", max = \"5ms\" }\n\
    seek_average = { mean = \"9.6ms\", sd = \"0.6ms\" }\n\
    seek_shape = { low = 0.8, high = 1.3 }\n\
    guard_growth = { median = 0.7, sigma = 0.65, max = 5 }\n\
    write_settle = { median = \"1ms\", sigma = 0.4, min = \"0.2ms\", max = \"4ms\" }\n";

const SPANS: [(&str, Option<Bytes>); 3] = [
    ("whole disk", None),
    ("32 GB", Some(Bytes::new(32_000_000_000))),
    ("1 GB", Some(Bytes::new(1_000_000_000))),
];

/// Specimens behind each prediction.
const SPECIMENS: u32 = 30;
/// Requests of each load of a specimen, and of the drive that is asked in the end.
const REQUESTS: u64 = 2_500;
const EXACT: u64 = 20_000;

/// What is predicted of every drive, in this order.
fn names() -> Vec<String> {
    let gain = |depth: u32| SPANS.map(|(span, _)| format!("R({depth}), {span}"));
    let others = ["NCQ against elevator, whole disk", "flush after 64 writes"];
    gain(8).into_iter().chain(gain(32)).chain(others.map(str::to_owned)).collect()
}

/// Requests a second of random reads, and the mean time of flushes behind writes in ns.
fn run(profile: &Profile, options: &str, load: WorkloadOptions, seed: u64) -> (f64, f64) {
    let options: Options =
        format!("fixed{options}").parse::<drivelab_model::options::DriveSpec>().unwrap().options;
    let drive = drivelab_model::build(profile, &options, seed).unwrap();
    let workload = load.check().unwrap();
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|_| () };
    let jobs = [VirtualJobs::one(&workload, seed)];
    let made = simulate(&mut VirtualTarget::new(drive), &jobs, &control).unwrap();
    let record = made[0].total().record();
    let flush = record.flush.map_or(f64::NAN, |flush| flush.lat_ns.mean as f64);
    (record.iops, flush)
}

/// The figures of [`names`] for the drive of `profile`.
fn figures(profile: &Profile, requests: u64, seed: u64) -> Vec<f64> {
    let load = |iodepth, size| WorkloadOptions {
        rw: "randread".parse().ok(),
        iodepth: Some(iodepth),
        size,
        number_ios: Some(requests),
        runtime: Some(Span::from_secs(100_000)),
        ..WorkloadOptions::default()
    };
    let rate = |options: &str, iodepth, size| run(profile, options, load(iodepth, size), seed).0;
    let alone = SPANS.map(|(_, size)| rate("", 1, size));
    let gains = |depth| (0..3).map(move |at| (depth, at));
    let of = |(depth, at): (u32, usize)| rate("", depth, SPANS[at].1) / alone[at];
    let mut all: Vec<f64> = gains(8).chain(gains(32)).map(of).collect();
    let elevator = rate(",ncq=off,scheduler=deadline,nr-requests=64", 32, None);
    all.push(all[3] * alone[0] / elevator);
    let writes = WorkloadOptions {
        rw: "randwrite".parse().ok(),
        fsync: Some(64),
        number_ios: Some(requests.min(10_000)),
        ..load(1, None)
    };
    all.push(run(profile, "", writes, seed).1);
    all
}

struct Unwatched;

impl Watch for Unwatched {
    fn stop(&mut self) -> bool {
        false
    }

    fn at(&mut self, _: &str, _: Span, _: Span) {}
}

/// What remains open of the drive once it was measured, as a profile.
fn learned(drive: &Profile, seed: u64) -> Profile {
    let device = drivelab_model::build(drive, &Options::default(), seed).unwrap();
    let settings = Settings { seed, writes: false, rpm: None };
    let mut target = VirtualTarget::new(device);
    let measured = drivelab_probe::measure(&mut target, settings, &mut Unwatched).unwrap();
    let fitted = fit::fit("fitted", "", &measured.measurements, seed).unwrap();
    Profile::parse("fitted.toml", &fitted.profile, &|_| None).unwrap()
}

/// For each figure, 95 % of drives that fit `profile`.
fn ranges(profile: &Profile, specimens: u32, seed: u64) -> Vec<[f64; 2]> {
    let all = Specimens::new(seed, specimens, std::iter::once(profile));
    let each = |number| {
        let specimen = all.of(0, profile, number);
        figures(&specimen, REQUESTS, seed + u64::from(number))
    };
    let rows: Vec<Vec<f64>> = (0..specimens).map(each).collect();
    let column = |at: usize| rows.iter().map(|row| row[at]).collect::<Vec<f64>>();
    (0..rows[0].len()).map(|at| predict(&column(at), 0.0).unwrap().range95).collect()
}

/// The figures of one drive, and the ranges that a measurement left for each.
type Asked = (Vec<f64>, Vec<[f64; 2]>);

fn main() {
    let count = std::env::args().filter_map(|word| word.parse().ok()).next_back().unwrap_or(200);
    let prior = Profile::parse("prior.toml", PRIOR, &|_| None).unwrap();
    let (next, done) = (AtomicU32::new(0), Mutex::new(Vec::<Asked>::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let seed = 10_000 + 100 * u64::from(number);
                    let drive = prior.drawn(number, 77);
                    let truth = figures(&drive, EXACT, seed);
                    let ranges = ranges(&learned(&drive, seed), SPECIMENS, seed);
                    done.lock().unwrap().push((truth, ranges));
                }
            });
        }
    });
    let done = done.into_inner().unwrap();
    // Before a measurement all drives have the same ranges.
    let before = ranges(&prior, 4 * SPECIMENS, 1);
    println!("{count} drives; log sd is a quarter of the logarithm of the range's ends' ratio");
    println!("{:34} {:>16} {:>20}", "", "measured", "nothing measured");
    println!("{:34} {:>8} {:>7} {:>12} {:>7}", "", "within", "log sd", "within", "log sd");
    for (at, name) in names().iter().enumerate() {
        let mut line = format!("{name:34}");
        for is_measured in [true, false] {
            let range = |(_, after): &Asked| if is_measured { after[at] } else { before[at] };
            let inside =
                |asked: &&Asked| (range(asked)[0]..=range(asked)[1]).contains(&asked.0[at]);
            let share = 100.0 * done.iter().filter(inside).count() as f64 / done.len() as f64;
            let width = |asked: &Asked| (range(asked)[1] / range(asked)[0]).ln() / 3.92;
            let mut widths: Vec<f64> = done.iter().map(width).collect();
            widths.sort_unstable_by(f64::total_cmp);
            line += &format!(" {share:>8.1} {:>7.3}    ", widths[widths.len() / 2]);
        }
        println!("{line}");
    }
}
