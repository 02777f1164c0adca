//! Solid-state drives: writes that last, of a state that was measured and of one that was not.

use std::process::ExitCode;

use drivelab_core::Control;
use drivelab_core::measurements::{FlashState, Measurements};
use drivelab_core::{Device as _, Lba, Request, Rng, Sectors, Time};
use drivelab_load::VirtualTarget;
use drivelab_model::options::{Options, Precondition};
use drivelab_model::profile::Profile;
use drivelab_model::{Specimens, fit};
use drivelab_probe::Settings;

use crate::score::{Score, in_parallel};

/// Specimens behind each prediction: half of those of `drive predict`.
const SPECIMENS: u32 = 20;
/// What drives program before anything is counted, and what is counted, in units of 4 KiB.
const FILLING: u64 = 24_576;
const COUNTED: u64 = 24_576;

/// A figure of writes.
#[derive(Debug, Clone, Copy)]
struct Figure {
    name: &'static str,
    state: Precondition,
    sequential: bool,
    depth: u64,
    units: u64,
}

const FIGURES: [Figure; 4] = [
    figure("sequential, 1 MiB, full", Precondition::Full, true, [1, 256]),
    figure("random, 4 KiB, depth 32, steady", Precondition::Steady, false, [32, 1]),
    figure("random, 4 KiB, depth 1, steady", Precondition::Steady, false, [1, 1]),
    figure("random, 64 KiB, depth 8, steady", Precondition::Steady, false, [8, 16]),
];

const fn figure(
    name: &'static str,
    state: Precondition,
    sequential: bool,
    [depth, units]: [u64; 2],
) -> Figure {
    Figure { name, state, sequential, depth, units }
}

/// What was known before a prediction.
const KNOWN: [&str; 4] = ["both states", "full", "steady", "nothing"];

/// Small drives of a class, with blocks of another size than a fit takes them for.
fn class(name: &str) -> Profile {
    let text = format!(
        "base = \"generic-{name}\"\ncapacity_bytes = 34_359_738_368\nblock_pages = 256\n\
         scale = \"1/32\"\n"
    );
    Profile::parse("class.toml", &text, &|_| None).unwrap()
}

fn in_state(state: Precondition) -> Options {
    Options { precondition: Some(state), ..Options::default() }
}

/// Units a second.
fn rate(profile: &Profile, figure: Figure, seed: u64) -> f64 {
    let Figure { state, sequential, depth, units, .. } = figure;
    let mut drive = drivelab_model::build(profile, &in_state(state), seed).unwrap();
    let places = drive.capacity().get() / 8 / units;
    let (ramp, all) = (FILLING / units, (FILLING + COUNTED) / units);
    let (mut rng, mut now, mut completed) = (Rng::for_part(seed, depth), Time::ZERO, Vec::new());
    let (mut sent, mut done, mut since) = (0, 0, Time::ZERO);
    while done < all {
        while sent < all && sent - done < depth {
            let place = if sequential { sent % places } else { rng.below(places) };
            let (lba, sectors) = (Lba::new(place * units * 8), Sectors::new(units * 8));
            drive.submit(now, Request::write(sent, lba, sectors)).unwrap();
            sent += 1;
        }
        now = drive.next_event().unwrap();
        drive.advance(now, &mut completed);
        let before = done;
        done += completed.drain(..).count() as u64;
        if before < ramp && done >= ramp {
            since = now;
        }
    }
    ((all - ramp) * units) as f64 * 1e9 / now.since(since).ns() as f64
}

/// What `drive measure` finds of the drive in a state.
fn measured(class: &str, drive: &Profile, state: Precondition, seed: u64) -> Measurements {
    let device = drivelab_model::build(drive, &in_state(state), seed).unwrap();
    let said = if state == Precondition::Full { FlashState::Full } else { FlashState::Steady };
    let (solid_state, state) = (true, Some(said));
    let settings = Settings { seed, writes: true, rpm: None, solid_state, state };
    let mut target = VirtualTarget::new(device);
    let measured = drivelab_probe::measure(&mut target, settings, &Control::unattended()).unwrap();
    assert_eq!(measured.marks, [], "nothing disturbs virtual time");
    let mut measured = measured.measurements;
    measured.interface = Some(class.parse().unwrap());
    measured
}

fn specimens(profile: &Profile, seed: u64) -> Vec<Vec<f64>> {
    let all = Specimens::new(seed, SPECIMENS, std::iter::once(profile));
    let each = |number| {
        let (one, seed) = (all.of(0, profile, number), seed + u64::from(number));
        FIGURES.map(|figure| rate(&one, figure, seed))
    };
    let rows: Vec<[f64; FIGURES.len()]> = (0..SPECIMENS).map(each).collect();
    (0..FIGURES.len()).map(|at| rows.iter().map(|row| row[at]).collect()).collect()
}

fn learned(measured: &Measurements, seed: u64) -> Profile {
    let fitted = fit::fit("fitted", "", measured, seed, &|_| ()).unwrap();
    assert!(fitted.notes.iter().all(|note| !note.contains("no drive")), "{:?}", fitted.notes);
    Profile::parse("fitted.toml", &fitted.profile, &|_| None).unwrap()
}

struct Asked {
    truth: [f64; FIGURES.len()],
    predicted: [Vec<Vec<f64>>; KNOWN.len()],
}

fn ask(name: &str, number: u32) -> Asked {
    let class = class(name);
    let seed = 10_000 + 1000 * u64::from(number);
    let drive = class.drawn(number, 77);
    let [full, steady] =
        [Precondition::Full, Precondition::Steady].map(|state| measured(name, &drive, state, seed));
    let mut both = full.clone();
    both.join(steady.clone()).unwrap();
    let [both, full, steady] =
        [both, full, steady].map(|measured| specimens(&learned(&measured, seed), seed));
    let predicted = [both, full, steady, specimens(&class, seed)];
    // Addresses that no specimen has.
    Asked { truth: FIGURES.map(|figure| rate(&drive, figure, seed + 900)), predicted }
}

/// Asks `count` drives of a class.
pub(crate) fn calibrate(class: &str, count: u32) -> ExitCode {
    let done = in_parallel(count, |number| ask(class, number));
    // Three standard errors below: where the model is exact, what is allowed for is too much.
    let below = 95.0 - 300.0 * (0.95_f64 * 0.05 / done.len() as f64).sqrt();
    println!(
        "{} drives of generic-{class}; a share is held to {below:.1} % at least.\n",
        done.len()
    );
    println!(
        "| writes | {} |\n|---|{}",
        KNOWN.map(|known| format!("{known}: within | log sd | median off")).join(" | "),
        "---|".repeat(3 * KNOWN.len())
    );
    let mut broken = Vec::new();
    for (at, figure) in FIGURES.iter().enumerate() {
        let mut line = format!("| {} |", figure.name);
        for (place, known) in KNOWN.iter().enumerate() {
            let mut score = Score::default();
            let mut off = Vec::new();
            for asked in &done {
                let (drawn, truth) = (&asked.predicted[place][at], asked.truth[at]);
                score.add(drawn, truth, 0.0);
                off.push((median(drawn) / truth).ln());
            }
            let (share, [width, _], off) = (score.share(), score.sizes(), median(&off));
            line += &format!(" {share:.0} % | {width:.3} | {:+.1} % |", 100.0 * off.exp_m1());
            if share < below {
                broken.push(format!("{}, {known}: {share:.1} %", figure.name));
            }
        }
        println!("{line}");
    }
    println!("\nbeyond: {}", if broken.is_empty() { "none".into() } else { broken.join("; ") });
    if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}
