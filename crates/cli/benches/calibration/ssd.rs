//! Solid-state drives: random reads at depths that the measurement left out.

use std::process::ExitCode;

use drivelab_core::Control;
use drivelab_core::measurements::Measurements;
use drivelab_core::{Device as _, Lba, Request, Rng, Sectors, Time};
use drivelab_load::VirtualTarget;
use drivelab_model::options::Options;
use drivelab_model::profile::Profile;
use drivelab_model::{Specimens, fit};
use drivelab_probe::Settings;

use crate::score::{Score, in_parallel, normal};

/// What the fit sees, and what it must predict.
const MEASURED: [u32; 4] = [1, 2, 8, 32];
const LEFT_OUT: [u32; 2] = [4, 16];
/// Specimens behind each prediction, as of `drive predict`.
const SPECIMENS: u32 = 40;
/// Requests of each load: of a specimen, and of the drive that is asked in the end.
const REQUESTS: u64 = 5_000;

/// Small drives of a class: addresses pick dies at random, however large a drive is.
fn class(name: &str) -> Profile {
    let text = format!(
        "base = \"generic-{name}\"\ncapacity_bytes = 1_000_341_504\nraw_bytes = 1_610_612_736\n\
         block_pages = 4\nscale = \"1\"\n"
    );
    Profile::parse("class.toml", &text, &|_| None).unwrap()
}

/// Random reads a second at each depth that was left out.
fn rates(profile: &Profile, seed: u64) -> Vec<f64> {
    LEFT_OUT.into_iter().map(|depth| rate(profile, u64::from(depth), seed)).collect()
}

fn rate(profile: &Profile, depth: u64, seed: u64) -> f64 {
    let mut drive = drivelab_model::build(profile, &Options::default(), seed).unwrap();
    let places = drive.capacity().get() / 8;
    let (mut rng, mut now, mut completed) = (Rng::for_part(seed, depth), Time::ZERO, Vec::new());
    let (mut sent, mut done) = (0, 0);
    while done < REQUESTS {
        while sent < REQUESTS && sent - done < depth {
            let request = Request::read(sent, Lba::new(rng.below(places) * 8), Sectors::new(8));
            drive.submit(now, request).unwrap();
            sent += 1;
        }
        now = drive.next_event().unwrap();
        drive.advance(now, &mut completed);
        done += completed.drain(..).count() as u64;
    }
    REQUESTS as f64 * 1e9 / now.ns() as f64
}

/// What `drive measure` finds of the drive, at the depths that the fit may see.
fn measured(class: &str, drive: &Profile, seed: u64) -> Measurements {
    let device = drivelab_model::build(drive, &Options::default(), seed).unwrap();
    let settings = Settings { seed, writes: false, rpm: None, solid_state: true, state: None };
    let mut target = VirtualTarget::new(device);
    let measured = drivelab_probe::measure(&mut target, settings, &Control::unattended()).unwrap();
    assert_eq!(measured.marks, [], "nothing disturbs virtual time");
    let mut measured = measured.measurements;
    measured.interface = Some(class.parse().unwrap());
    measured.loads.retain(|load| MEASURED.contains(&load.iodepth));
    measured
}

/// The same of a drive that the model is off: each rate at depth.
fn off(mut measured: Measurements, seed: u64) -> Measurements {
    let mut rng = Rng::for_part(seed, 7);
    let sigma = fit::OFF[usize::try_from(rng.below(fit::OFF.len() as u64)).unwrap()];
    for load in measured.loads.iter_mut().filter(|load| load.iodepth > 1) {
        let factor = (sigma * normal(&mut rng)).exp();
        for (key, value) in load.figures.iter_mut() {
            *value *= if key == "iops" { factor } else { 1.0 / factor };
        }
    }
    measured
}

/// For each depth that was left out, the rates of drives that fit `profile`.
fn specimens(profile: &Profile, seed: u64) -> Vec<Vec<f64>> {
    let all = Specimens::new(seed, SPECIMENS, std::iter::once(profile));
    let each = |number| rates(&all.of(0, profile, number), seed + u64::from(number));
    let rows: Vec<Vec<f64>> = (0..SPECIMENS).map(each).collect();
    (0..LEFT_OUT.len()).map(|at| rows.iter().map(|row| row[at]).collect()).collect()
}

fn learned(measured: &Measurements, seed: u64) -> Profile {
    let fitted = fit::fit("fitted", "", measured, seed, &|_| ()).unwrap();
    Profile::parse("fitted.toml", &fitted.profile, &|_| None).unwrap()
}

/// What was known before a prediction, and whether it holds what it should: where the model is
/// exact, the allowance for its errors is too much.
const KNOWN: [(&str, bool); 3] = [
    ("measured, off the model", true),
    ("measured, as modelled", false),
    ("nothing measured", true),
];

struct Asked {
    truth: Vec<f64>,
    predicted: [Vec<Vec<f64>>; KNOWN.len()],
    lacking: Vec<f64>,
}

fn ask(name: &str, number: u32) -> Asked {
    let class = class(name);
    let seed = 10_000 + 1000 * u64::from(number);
    let drive = class.drawn(number, 77);
    let exact = measured(name, &drive, seed);
    let predicted = [
        specimens(&learned(&off(exact.clone(), seed), seed), seed),
        specimens(&learned(&exact, seed), seed),
        specimens(&class, seed),
    ];
    let mut rng = Rng::for_part(seed, 8);
    let lacking = LEFT_OUT.map(|_| normal(&mut rng)).into();
    // Addresses that no specimen has.
    Asked { truth: rates(&drive, seed + 900), predicted, lacking }
}

/// Asks `count` drives of a class.
pub(crate) fn calibrate(class: &str, count: u32) -> ExitCode {
    let done = in_parallel(count, |number| ask(class, number));
    // Three standard errors on either side.
    let beyond = 300.0 * (0.95_f64 * 0.05 / done.len() as f64).sqrt();
    println!("{} drives of generic-{class}; a share is held to 95 +- {beyond:.1} %.", done.len());
    let mut broken = Vec::new();
    for (what, lacks) in [("the model", 0.0), ("what it lacks as well", 0.05)] {
        println!("\nOpen is {what}:\n");
        println!(
            "| reads at depth | {} |\n|---|{}",
            KNOWN.map(|(known, _)| format!("{known}: within | log sd | error")).join(" | "),
            "---|".repeat(3 * KNOWN.len())
        );
        for (at, depth) in LEFT_OUT.iter().enumerate() {
            let mut line = format!("| {depth} |");
            for (place, (known, is_held)) in KNOWN.iter().enumerate() {
                let mut score = Score::default();
                for asked in &done {
                    let truth = asked.truth[at] * (lacks * asked.lacking[at]).exp();
                    score.add(&asked.predicted[place][at], truth, lacks);
                }
                let (share, [width, error]) = (score.share(), score.sizes());
                line += &format!(" {share:.1} % | {width:.3} | {error:.2} |");
                let is_off = (share - 95.0).abs() > beyond;
                if is_off && (*is_held || share < 95.0) {
                    broken.push(format!("depth {depth}, {known}: {share:.1} % ({what})"));
                }
            }
            println!("{line}");
        }
    }
    println!("\nbeyond: {}", if broken.is_empty() { "none".into() } else { broken.join("; ") });
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
