//! The share of drawn drives that lie in the interval that 40 others of their class predict, and
//! how wide it is: `cargo bench -p drivelab-model --bench coverage`. The table stands in
//! docs/internals/calibration.md.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(
    dead_code,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::unwrap_used,
    reason = "the load of the tests, of which this uses a part"
)]

#[path = "../tests/drive/load.rs"]
mod load;

use drivelab_core::Rng;
use drivelab_model::options::Options;
use drivelab_model::profile::Profile;
use drivelab_model::{Specimens, build};
use drivelab_stats::distribution::normal;
use drivelab_stats::predict;

use load::{Load, run};

/// Drives that predict, as `drive predict` draws them, and drives that are held against them.
const KNOWN: u32 = 40;
const HELD: u32 = 200;

const CLASSES: [&str; 11] = [
    "generic-5400",
    "generic-10k",
    "generic-smr",
    "generic-sata-consumer",
    "generic-sata-datacenter",
    "generic-nvme-consumer",
    "generic-nvme-datacenter",
    "generic-qlc",
    "generic-sd",
    "generic-emmc",
    "generic-usb-stick",
];

const LOADS: [(&str, Load); 3] = [
    ("random reads, depth 1", of(1, 100)),
    ("random reads, depth 32", of(32, 100)),
    ("random writes, depth 8", of(8, 0)),
];

const fn of(depth: usize, reads: u64) -> Load {
    Load {
        depth,
        requests: 1500,
        sectors: 8,
        reads,
        sequential: false,
        span: 100,
        within: u64::MAX,
        from: 0,
        seed: 1,
    }
}

fn rate(profile: &Profile, load: Load, seed: u64) -> f64 {
    let mut options = Options::default();
    if profile.is_solid_state() {
        // Small enough to be prepared in a moment; reads do not depend on it.
        options.set("scale", "1/256").unwrap();
    }
    run(&mut build(profile, &options, seed).unwrap(), Load { seed, ..load }).iops()
}

/// A class, a load, how many of the drives lie inside, and the logarithmic width.
fn row(class: &str, (what, load): (&str, Load)) {
    let profile = Profile::embedded(class).unwrap();
    let sigma = profile.lacks()[0];
    let known = Specimens::new(1, KNOWN, std::iter::once(&profile));
    let rates = (0..KNOWN).map(|number| rate(&known.of(0, &profile, number), load, 1));
    let [low, high] = predict(&rates.collect::<Vec<f64>>(), sigma).unwrap().range95;
    let mut rng = Rng::new(2);
    // A real drive is off its model by what the model lacks.
    let held = (0..HELD).filter(|number| {
        let off = normal::quantile(rng.unit()) * sigma;
        let real = rate(&profile.drawn(*number, 99), load, 7) * libm::exp(off);
        (low..=high).contains(&real)
    });
    let share = 100.0 * held.count() as f64 / f64::from(HELD);
    println!("{class:24} {what:24} {share:5.1} %  width {:.2}", libm::log(high / low));
}

fn main() {
    for class in CLASSES {
        for load in LOADS {
            row(class, load);
        }
    }
}
