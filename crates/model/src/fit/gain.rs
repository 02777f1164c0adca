//! What a queue gains: a prior, because depth 1 cannot show it.

use super::simulate::{self, Load};

/// The gain of 32 outstanding random reads over one, log-normal, by kind of drive.
///
/// From single drives measured at depths 1 to 32 (docs/internals/drive-facts.md): twelve desktop
/// drives, few of the other kinds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// The kind, in words.
    pub kind: &'static str,
    /// Its median.
    pub median: f64,
    /// The deviation of its logarithm.
    pub sigma: f64,
}

impl Prior {
    /// The prior for a drive of this speed.
    pub fn of(rpm: f64) -> Self {
        let (kind, median, sigma) = match rpm {
            ..6_500.0 => ("laptop and low-power drives", 1.55, 0.25),
            9_000.0.. => ("10K and 15K SCSI drives", 1.80, 0.15),
            _ => ("desktop SATA drives", 1.65, 0.20),
        };
        Self { kind, median, sigma }
    }
}

/// Requests of one measurement of the gain.
const REQUESTS: u64 = 30_000;
const STEPS: u32 = 9;
/// Beyond this share of a revolution a wider guard no longer lowers the gain.
const WIDEST_GUARD: f64 = 0.55;

/// The guard band, in ms, with which the drive of `profile(guard)` gains `wanted` at depth 32, or
/// comes nearest to it; and what it gains.
pub(super) fn guard_for(
    wanted: f64,
    revolution: f64,
    seed: u64,
    profile: impl Fn(f64) -> String,
) -> Result<(f64, f64), String> {
    let gain = |guard: f64| {
        let rate = |depth| {
            let load = Load { depth, requests: REQUESTS, sectors: 8, seed };
            simulate::random_reads(&profile(guard), load).map(|times| times.per_s)
        };
        Ok::<f64, String>(rate(32)? / rate(1)?)
    };
    let (mut low, mut high) = (0.0, WIDEST_GUARD * revolution);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if gain(middle)? > wanted { low = middle } else { high = middle }
    }
    // As many digits as the profile shows.
    let guard = libm::round(high * 100.0) / 100.0;
    Ok((guard, gain(guard)?))
}
