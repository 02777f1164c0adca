//! Published drives lie within what the priors allow.

use drivelab_core::hypercube;
use drivelab_model::build;
use drivelab_model::options::DriveSpec;
use drivelab_model::profile::Profile;

use crate::load::{Load, run};

const GB: u64 = 1_000_000_000;
/// Standard deviations of the logarithm of what the model lacks: of anything, and of anything with
/// an elevator.
const LACKS: [f64; 2] = [0.05, 0.10];
const DRAWS: u32 = 24;

/// A desktop drive of some size whose other numbers nobody has measured.
fn desktop(gigabytes: u64, spec: &str) -> (Profile, DriveSpec) {
    let spec: DriveSpec = format!("seagate-st31000333as,{spec}").parse().unwrap();
    let text = format!(
        "base = \"seagate-st31000333as\"\ncapacity_bytes = {}\nread_segments = 0\n",
        gigabytes * GB / 4096 * 4096
    );
    (Profile::parse("desktop.toml", &text, &|_| None).unwrap(), spec)
}

/// The logarithms of figures of drawn drives, from rates at `depths` within a span, and whether
/// `found` lies within 95 drives of 100.
fn check(what: &str, log_draws: &[f64], sigma: f64, found: f64) {
    let n = log_draws.len() as f64;
    let mean = log_draws.iter().sum::<f64>() / n;
    let variance = log_draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let off = (found.ln() - mean) / (variance + sigma.powi(2)).sqrt();
    let half = 1.96 * (variance + sigma.powi(2)).sqrt();
    let ends = [(mean - half).exp(), (mean + half).exp()];
    assert!(off.abs() < 1.96, "{what}: {found} is {off:.2} deviations off, outside {ends:.2?}");
}

/// IOPS of each drawn drive at each depth.
fn rates<const N: usize>(
    (profile, spec): &(Profile, DriveSpec),
    depths: [usize; N],
    within: u64,
) -> Vec<[f64; N]> {
    let draws = hypercube(7, DRAWS, profile.unknowns().len());
    let of = |quantiles: &Vec<f64>| {
        let (specimen, _) = profile.specimen(quantiles);
        depths.map(|depth| {
            let load = Load { requests: 6_000, within, depth, ..Load::default() };
            run(&mut build(&specimen, &spec.options, 1).unwrap(), load).iops()
        })
    };
    draws.iter().map(of).collect()
}

fn logs<const N: usize>(rates: &[[f64; N]], over: usize, under: Option<usize>) -> Vec<f64> {
    let log = |rates: &[f64; N]| (rates[over] / under.map_or(1.0, |under| rates[under])).ln();
    rates.iter().map(log).collect()
}

/// A 500 GB drive and a Samsung `SpinPoint` F1 of 1 TB on the whole disk (fio results in the
/// history of the project fio-plot); the second one's curve holds an elevator.
#[test]
fn drives_measured_on_the_whole_disk_lie_within_the_prior() {
    let found = rates(&desktop(500, "seed=1"), [1, 4, 8, 16, 32], u64::MAX);
    check("500 GB, depth 1", &logs(&found, 0, None), LACKS[0], 69.8);
    for (place, real) in [(1, 82.1), (2, 93.8), (3, 104.8), (4, 113.6)] {
        check("500 GB, gain", &logs(&found, place, Some(0)), LACKS[0], real / 69.8);
    }
    let found = rates(&desktop(1000, "seed=1"), [1], u64::MAX);
    check("F1, depth 1", &logs(&found, 0, None), LACKS[0], 72.1);
    let found =
        rates(&desktop(1000, "ncq=off,scheduler=deadline,nr-requests=64"), [1, 32], u64::MAX);
    check("F1, elevator", &logs(&found, 1, Some(0)), LACKS[1], 131.0 / 72.1);
}

/// The first 32 GB of a Maxtor 7B300S0 and a Samsung HD160JJ (J. Axboe, linux-kernel, June 2006).
#[test]
fn drives_measured_on_short_spans_lie_within_the_prior() {
    for (size, alone, [elevator, on_top, both]) in
        [(300, 99.3, [1.29, 1.31, 1.70]), (160, 93.0, [1.21, 1.13, 1.36])]
    {
        let arm = |options: &str| {
            let spec = format!("scheduler=deadline,nr-requests=128,{options}");
            rates(&desktop(size, &spec), [1, 48], 32 * GB)
        };
        let (off, on) = (arm("ncq=off"), arm("ncq=on"));
        check("depth 1", &logs(&off, 0, None), LACKS[0], alone);
        check("elevator", &logs(&off, 1, Some(0)), LACKS[1], elevator);
        let against: Vec<[f64; 3]> = off.iter().zip(&on).map(|(a, b)| [a[0], a[1], b[1]]).collect();
        check("NCQ on top", &logs(&against, 2, Some(1)), LACKS[1], on_top);
        check("in all", &logs(&against, 2, Some(0)), LACKS[1], both);
    }
}
