//! Hard disks: gains of the queue on three spans, against the elevator, and flushes.
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use drivelab_core::Control;
use drivelab_core::Rng;
use drivelab_core::measurements::Measurements;
use drivelab_core::units::{Bytes, Span};
use drivelab_core::workload::WorkloadOptions;
use drivelab_load::{VirtualJobs, VirtualTarget, simulate};
use drivelab_model::options::Options;
use drivelab_model::profile::Profile;
use drivelab_model::{Specimens, fit};
use drivelab_probe::Settings;

use crate::score::{Score, in_parallel, normal};

/// Drives that the fit knows nothing of but their kind.
const DRIVES: &str = "seagate-st31000333as";

const SPANS: [(&str, Option<Bytes>); 3] = [
    ("whole disk", None),
    ("32 GB", Some(Bytes::new(32_000_000_000))),
    ("1 GB", Some(Bytes::new(1_000_000_000))),
];

/// Specimens behind each prediction, as of `drive predict`.
const SPECIMENS: u32 = 40;
/// Requests of each load: of a specimen, and of the drive that is asked in the end.
const REQUESTS: u64 = 2_500;

/// How far a real drive may be from the model in each figure, as `[lacks]` of the profile says.
fn lacks(profile: &Profile) -> Vec<f64> {
    let [any, elevator] = profile.lacks();
    let of = |name: &String| if name.contains("elevator") { elevator } else { any };
    names().iter().map(of).collect()
}

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
    let control = Control::silent(&stop);
    let jobs = [VirtualJobs::one(&workload, seed)];
    let made = simulate(&mut VirtualTarget::new(drive), &jobs, &control).unwrap();
    let record = made[0].total().record();
    let flush = record.flush.map_or(f64::NAN, |flush| flush.lat_ns.mean as f64);
    (record.iops, flush)
}

/// The figures of [`names`] for the drive of `profile`.
fn figures(profile: &Profile, seed: u64) -> Vec<f64> {
    let load = |iodepth, size| WorkloadOptions {
        rw: "randread".parse().ok(),
        iodepth: Some(iodepth),
        size,
        number_ios: Some(REQUESTS),
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
    let writes = WorkloadOptions { rw: "randwrite".parse().ok(), fsync: Some(64), ..load(1, None) };
    all.push(run(profile, "", writes, seed).1);
    all
}

/// What `drive measure` finds of the drive.
fn measured(drive: &Profile, seed: u64) -> Measurements {
    let device = drivelab_model::build(drive, &Options::default(), seed).unwrap();
    let settings = Settings { seed, writes: false, rpm: None, solid_state: false, state: None };
    let mut target = VirtualTarget::new(device);
    let measured = drivelab_probe::measure(&mut target, settings, &Control::unattended()).unwrap();
    assert_eq!(measured.marks, [], "nothing disturbs virtual time");
    measured.measurements
}

/// The same of a drive that the model is off: each rate at depth, and each quantile at depth 1.
fn off(mut measured: Measurements, seed: u64) -> Measurements {
    let mut rng = Rng::for_part(seed, 7);
    let mut sigma = || fit::OFF[usize::try_from(rng.below(fit::OFF.len() as u64)).unwrap()];
    let [rates, quantiles] = [sigma(), sigma()];
    for load in &mut measured.loads {
        let is_deep = load.iodepth > 1;
        for (key, value) in load.figures.iter_mut() {
            let is_rate = matches!(key, "iops" | "mean_ms");
            let sigma = match (is_deep, is_rate) {
                (true, _) => rates,
                (false, true) => 0.0,
                (false, false) => quantiles,
            };
            *value *= (sigma * normal(&mut rng)).exp();
        }
    }
    measured
}

/// What remains open of the drive once it was measured, as a profile.
fn learned(measured: &Measurements, seed: u64) -> Profile {
    let fitted = fit::fit("fitted", "", measured, seed, &|_| ()).unwrap();
    Profile::parse("fitted.toml", &fitted.profile, &|_| None).unwrap()
}

/// For each figure, those of drives that fit `profile`.
fn specimens(profile: &Profile, seed: u64) -> Vec<Vec<f64>> {
    let all = Specimens::new(seed, SPECIMENS, std::iter::once(profile));
    let each = |number| figures(&all.of(0, profile, number), seed + u64::from(number));
    let rows: Vec<Vec<f64>> = (0..SPECIMENS).map(each).collect();
    let column = |at: usize| rows.iter().map(|row| row[at]).collect();
    (0..rows[0].len()).map(column).collect()
}

/// What was known before a prediction.
const KNOWN: [&str; 3] = ["measured, off the model", "measured, as modelled", "nothing measured"];

/// The figures of one drive, and those of the specimens that each of [`KNOWN`] leaves.
struct Asked {
    truth: Vec<f64>,
    predicted: [Vec<Vec<f64>>; KNOWN.len()],
    /// A deviate for each figure: by how much of `[lacks]` a real drive of these numbers is off.
    lacking: Vec<f64>,
}

fn ask(prior: &Profile, number: u32) -> Asked {
    let seed = 10_000 + 1000 * u64::from(number);
    let drive = prior.drawn(number, 77);
    // Addresses that no specimen has.
    let truth = figures(&drive, seed + 900);
    let exact = measured(&drive, seed);
    let predicted = [
        specimens(&learned(&off(exact.clone(), seed), seed), seed),
        specimens(&learned(&exact, seed), seed),
        specimens(prior, seed),
    ];
    let mut rng = Rng::for_part(seed, 8);
    let lacking = truth.iter().map(|_| normal(&mut rng)).collect();
    Asked { truth, predicted, lacking }
}

/// Asks `count` disks.
pub(crate) fn calibrate(count: u32) -> ExitCode {
    let prior = format!("base = \"{DRIVES}\"\n{}\n", fit::WRITE_SETTLE);
    let prior = Profile::parse("prior.toml", &prior, &|_| None).unwrap();
    let done = in_parallel(count, |number| ask(&prior, number));
    show(&done, &lacks(&prior))
}

fn show(done: &[Asked], lacks: &[f64]) -> ExitCode {
    // Three standard errors on either side: one figure in a few hundred is beyond by chance.
    let beyond = 300.0 * (0.95_f64 * 0.05 / done.len() as f64).sqrt();
    println!(
        "{} drives; a single share is held to 95 +- {beyond:.1} %, all to 93 to 97 %.",
        done.len()
    );
    let of_the_model = vec![0.0; lacks.len()];
    let mut broken = Vec::new();
    for (what, lacks) in [("the model", &of_the_model[..]), ("what it lacks as well", lacks)] {
        println!("\nOpen is {what}:\n");
        broken.extend(table(done, lacks, beyond).map(|share| format!("{share} ({what})")));
    }
    println!("\nbeyond: {}", if broken.is_empty() { "none".into() } else { broken.join("; ") });
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the shares by figure and of all; returns those that do not agree with 95 %.
fn table(done: &[Asked], lacks: &[f64], beyond: f64) -> impl Iterator<Item = String> + use<> {
    println!(
        "| figure | {} |",
        KNOWN.map(|known| format!("{known}: within | log sd | error")).join(" | ")
    );
    println!("|---|{}", "---|".repeat(3 * KNOWN.len()));
    let mut broken = Vec::new();
    let mut all: [Score; KNOWN.len()] = Default::default();
    let mut row = |name: &str, scores: &[Score; KNOWN.len()], allowed: f64| {
        let mut line = format!("| {name} |");
        for (known, score) in KNOWN.iter().zip(scores) {
            let (share, [width, error]) = (score.share(), score.sizes());
            line += &format!(" {share:.1} % | {width:.3} | {error:.2} |");
            if (share - 95.0).abs() > allowed {
                broken.push(format!("{name}, {known}: {share:.1} %"));
            }
        }
        println!("{line}");
    };
    for (at, name) in names().iter().enumerate() {
        let mut scores: [Score; KNOWN.len()] = Default::default();
        for Asked { truth, predicted, lacking } in done {
            let truth = truth[at] * (lacks[at] * lacking[at]).exp();
            for (known, predicted) in predicted.iter().enumerate() {
                scores[known].add(&predicted[at], truth, lacks[at]);
                all[known].add(&predicted[at], truth, lacks[at]);
            }
        }
        row(name, &scores, beyond);
    }
    row("**all**", &all, 2.0);
    broken.into_iter()
}
