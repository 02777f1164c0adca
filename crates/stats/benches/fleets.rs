//! How often a fleet is alarmed without cause, and how often a slow disk is found, printed as
//! Markdown: `cargo bench -p drivelab-stats --bench fleets`. Not a measurement of time.

#[expect(dead_code, reason = "shared with the tests, which use all of it")]
#[path = "../tests/truth/mod.rs"]
mod truth;

use std::io::{self, Write};
use std::process::ExitCode;

use truth::fleet::{Fleets, GROUPS, Spread};

const FLEETS: u32 = 1_000;
const SEED: u64 = 30_300;
/// 5 % and three standard deviations of 1,000 fleets.
const ALARMS_MAX: f64 = 5.0 + 3.0 * 0.69;
const RATIOS: [f64; 4] = [0.9, 0.85, 0.8, 0.7];

fn main() -> io::Result<ExitCode> {
    let mut out = io::stdout().lock();
    let mut is_broken = false;
    writeln!(out, "{FLEETS} fleets a case, groups of {GROUPS:?} disks, seeds from {SEED}.\n")?;
    writeln!(out, "| healthy disks | margin | alarms | found at 10 / 15 / 20 / 30 % slower |")?;
    writeln!(out, "|---|---|---|---|")?;
    let mut seed = SEED;
    for spread in Spread::ALL {
        for margin in [0.0, 0.05] {
            seed += 10;
            let healthy = Fleets { spread, bad: None, margin }.measure(FLEETS, seed);
            is_broken |= spread == Spread::Normal && healthy.alarms > ALARMS_MAX;
            let found = (1..).zip(RATIOS).map(|(number, ratio)| {
                let bad = Fleets { spread, bad: Some(ratio), margin };
                let found = bad.measure(FLEETS / 5, seed + number).found;
                is_broken |= spread == Spread::Normal && number == 4 && found < 95.0;
                format!("{found:.1}")
            });
            let found = found.collect::<Vec<_>>().join(" / ");
            let (alarms, margin) = (healthy.alarms, 100.0 * margin);
            writeln!(out, "| {spread:?} | {margin} % | {alarms:.1} % | {found} % |")?;
        }
    }
    Ok(if is_broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
