//! The guard band with which a drive gains what its prior says.

use super::simulate::{self, Load};

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
