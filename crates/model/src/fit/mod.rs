//! From measurements at depth 1 to a profile, by a documented search.
//!
//! The search is a random one that narrows down (a (1+1) evolution strategy with the 1/5 rule,
//! Rechenberg 1973): each trial moves every parameter by a random share of its range, is simulated
//! for [`REQUESTS`] random reads at depth 1, and is kept if the root mean square of the logarithms
//! of (simulated / measured) over all given figures has become smaller; the mean, which every
//! request takes part in, counts as much as all quantiles together. Same measurements and seed,
//! same profile.
//!
//! What random reads at depth 1 cannot show, the profile takes from priors and says so: it is the
//! same for all drives of its kind until somebody measures it.

mod measurements;
mod text;

pub use measurements::Measurements;

use drivelab_core::{Device, Lba, Request, Rng, Sectors, Time};

use crate::profile::Profile;
use crate::spec::Options;
use text::Parameters;

/// Random reads of one trial.
pub const REQUESTS: u64 = 4_000;
/// Trials of a search.
pub const TRIALS: u32 = 600;

/// The largest step, as a share of a parameter's range, and the one below which steps grow again.
const WIDEST: f64 = 1.0;
const NARROWEST: f64 = 0.01;

/// One figure: what it is called, what was measured and what the fitted profile gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// The key in the measurements file.
    pub name: &'static str,
    /// In the unit of the key.
    pub measured: f64,
    /// In the unit of the key.
    pub fitted: f64,
}

/// What a fit came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The profile, as a file with the source of each number.
    pub profile: String,
    /// Every figure that was fitted.
    pub figures: Vec<Figure>,
    /// Root mean square of the logarithms of (fitted / measured).
    pub rms_log_error: f64,
}

/// What measurements at depth 1 cannot identify, and where it is taken from instead.
pub const NOT_IDENTIFIED: [&str; 5] = [
    "the order in the drive's queue: guard band 3 ms, the prior for desktop SATA drives (R(32) \
     log-normal about 1.65, sigma 0.20)",
    "heads and the ratio of outer to inner track length: 4 heads, 2 to 1",
    "seek curve apart from its effect on random reads: shape and full stroke trade places",
    "settling of writes: 1 ms",
    "the write cache, unless random writes were measured: on, 32 MiB, 128 runs",
];

/// Fits a profile called `model` to `measurements`.
///
/// # Errors
/// The measurements hold nothing to fit to, or no drive can be built near them.
pub fn fit(model: &str, measurements: &Measurements, seed: u64) -> Result<Fit, String> {
    let wanted = measurements.figures();
    if wanted.is_empty() {
        return Err("there is nothing to fit to: give `iops`, `mean_ms` or a quantile of \
                    `[random_read_qd1]`"
            .into());
    }
    let trial = |parameters: &Parameters| {
        let text = parameters.profile(model, measurements, None);
        let fitted = simulate(&text, measurements, seed).ok()?;
        Some((distance(&wanted, &fitted), fitted))
    };
    let mut rng = Rng::for_part(seed, 1);
    let mut best = Parameters::start(measurements);
    let (mut error, mut fitted) = trial(&best)
        .ok_or("no drive can be built from these figures: check `capacity_bytes` and `rpm`")?;
    let mut width = WIDEST;
    for _ in 0..TRIALS {
        let moved = best.moved(&mut rng, width);
        match trial(&moved) {
            Some((smaller, figures)) if smaller < error => {
                (best, error, fitted) = (moved, smaller, figures);
                width = f64::min(width * 1.5, WIDEST);
            }
            // Once the steps have become small, large ones are tried again: there may be a better
            // valley.
            _ if width < NARROWEST => width = WIDEST,
            _ => width *= 0.93,
        }
    }
    let figures = wanted
        .iter()
        .map(|(name, measured)| {
            let fitted = fitted.iter().find(|(known, _)| known == name).map_or(0.0, |(_, x)| *x);
            Figure { name, measured: *measured, fitted }
        })
        .collect();
    let profile = best.profile(model, measurements, Some((error, seed)));
    Ok(Fit { profile, figures, rms_log_error: error })
}

type Figures = Vec<(&'static str, f64)>;

/// How much the mean, or its inverse, counts against a quantile: there are up to eleven of them.
const MEAN_WEIGHT: f64 = 11.0;

/// The weighted root mean square of the logarithms of the ratios.
fn distance(wanted: &Figures, found: &Figures) -> f64 {
    let (mut squares, mut weights) = (0.0, 0.0);
    for (name, measured) in wanted {
        let fitted = found.iter().find(|(known, _)| known == name).map_or(f64::MAX, |(_, x)| *x);
        let log = libm::log(fitted / measured);
        let weight = if matches!(*name, "mean_ms" | "iops") { MEAN_WEIGHT } else { 1.0 };
        squares += weight * log * log;
        weights += weight;
    }
    (squares / weights).sqrt()
}

/// Random reads at depth 1 on the drive of `profile`.
#[expect(clippy::cast_precision_loss, reason = "times far below 2^52 ns")]
fn simulate(profile: &str, measurements: &Measurements, seed: u64) -> Result<Figures, String> {
    let profile = Profile::parse("fit.toml", profile, &|_| None).map_err(|e| e.to_string())?;
    let mut drive = crate::build(&profile, &Options::default(), seed).map_err(|e| e.to_string())?;
    let mut rng = Rng::for_part(seed, 2);
    let sectors = Sectors::new((measurements.read_bytes / 512).max(1));
    let slots = drive.capacity().get() / sectors.get();
    let (mut now, mut done) = (Time::ZERO, Vec::with_capacity(1));
    let mut times = Vec::new();
    for request in 0..REQUESTS {
        let lba = Lba::new(rng.below(slots) * sectors.get());
        let begun = now;
        drive
            .submit(now, Request::read(request, lba, sectors))
            .map_err(|_| "the queue of an idle drive is full")?;
        while done.is_empty() {
            now = drive.next_event().ok_or("a drive answers what it took")?;
            drive.advance(now, &mut done);
        }
        done.clear();
        times.push(now.since(begun).ns() as f64 / 1e6);
    }
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    times.sort_unstable_by(f64::total_cmp);
    Ok(measurements::of_times(&times, mean))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: &str = "[drive]\ncapacity_bytes = 2_000_398_934_016\nrpm = 7200\n\
        [random_read_qd1]\nbs = \"4k\"\niops = 57.6\nmean_ms = 17.57\np1_ms = 3.26\np5_ms = 7.70\n\
        p10_ms = 10.42\np25_ms = 14.75\np50_ms = 17.69\np75_ms = 20.84\np90_ms = 23.20\n\
        p95_ms = 24.77\np99_ms = 28.44\np99_5_ms = 40.63\n\
        [sequential]\nread_mb_per_s = 143\nwrite_mb_per_s = 132\nbs = \"1M\"\n";

    fn read(text: &str) -> Measurements {
        Measurements::read("m.toml", text).unwrap()
    }

    #[test]
    fn a_measured_drive_is_met_at_depth_one_and_always_the_same() {
        let once = fit("fitted", &read(FIGURES), 1).unwrap();
        let mean = once.figures.iter().find(|figure| figure.name == "mean_ms").unwrap();
        assert!((mean.fitted / mean.measured - 1.0).abs() < 0.03, "{mean:?}");
        assert!(once.rms_log_error < 0.15, "{:?}", once.figures);
        let profile = Profile::parse("fitted.toml", &once.profile, &|_| None).unwrap();
        assert_eq!(profile.capacity().bytes().get(), 2_000_398_934_016);
        assert_eq!(once, fit("fitted", &read(FIGURES), 1).unwrap());
        assert_ne!(once.profile, fit("fitted", &read(FIGURES), 8).unwrap().profile);
    }

    #[test]
    fn slips_are_refused_with_their_place() {
        let check = |text: &str, part: &str| {
            let error = Measurements::read("m.toml", text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        check("[drive]\nrpm = 7200\n", "capacity_bytes");
        check("[drive]\ncapacity_bytes = 1e12\nrpm = 0\n", "rpm");
        check(&format!("{FIGURES}\n[random_read]\n"), "random_read");
        check("[drive]\ncapacity_bytes = 9\nrpm = 7200\n[random_read_qd1]\np50_ms = -1\n", "p50");
        let empty = read("[drive]\ncapacity_bytes = 1000000000000\nrpm = 7200\n");
        assert!(fit("a", &empty, 1).unwrap_err().contains("nothing to fit"));
    }
}
