//! From measurements at depth 1 to a profile, by a documented search.
//!
//! Searched for are the seek curve, smooth from a settled short seek to the full stroke, and the
//! retries. The search is a random one that narrows down (a (1+1) evolution strategy with
//! steps that grow on success and shrink on failure, Rechenberg 1973): each trial moves one value
//! or several, and is kept if the weighted root mean square of the logarithms of (found / measured)
//! over all given figures has become smaller; the mean, which every request takes part in, counts
//! as much as all quantiles together. What the figures leave open stays near a usual curve. Same
//! measurements and seed, same profile.
//!
//! What random reads at depth 1 cannot show, the profile takes from priors and says so. The margin
//! of the firmware's queue grows with the seek as in the median drive of its kind.

mod curve;
mod measurements;
mod sample;
mod search;
mod simulate;
mod text;

pub use measurements::Measurements;

use drivelab_core::Sectors;

use crate::disk::geometry::{Geometry, ZoneShape};
use sample::Sample;
use simulate::Load;
use text::Text;

/// Random reads on the finished drive, and of each measurement of its gain.
pub const REQUESTS: u64 = 100_000;
const GAIN_REQUESTS: u64 = 30_000;

/// One figure: what it is called, what was measured and what the fitted profile gives.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedFigure {
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
    pub figures: Vec<FittedFigure>,
    /// Root mean square of the logarithms of (fitted / measured), the mean weighted.
    pub rms_log_error: f64,
    /// What the fitted drive gains at depth 32, with the margin of the median drive of its kind.
    pub gain: f64,
    /// What these measurements cannot show, and what stands in for it.
    pub not_identified: Vec<String>,
}

/// Fits a profile called `model` to `measurements`; `command` is what its header says made it.
///
/// # Errors
/// The measurements hold nothing to fit to, or no drive can be built near them.
pub fn fit(
    model: &str,
    command: &str,
    measurements: &Measurements,
    seed: u64,
) -> Result<Fit, String> {
    let wanted = measurements.figures();
    if wanted.is_empty() {
        return Err(
            "nothing to fit: give `iops`, `mean_ms` or a quantile in `[random_read_qd1]`".into()
        );
    }
    let revolution = 60_000.0 / measurements.rpm;
    let mut text = Text::new(model, command, measurements, seed);
    let sectors = (measurements.read_bytes / 512).max(1);
    let average = measurements.typical_ms() - revolution / 2.0 - text::OVERHEAD_MS;
    if average <= 0.2 {
        return Err(format!(
            "a read of {:.2} ms leaves no time for a seek after half a revolution of \
             {revolution:.2} ms: check `rpm`, and that no cache answered",
            measurements.typical_ms()
        ));
    }
    let geometry = geometry(measurements, &text)?;
    let rest = text::OVERHEAD_MS + text.transfer_ms(sectors);
    let sample = Sample::new(&geometry, revolution, rest);
    text.found = Some(search::search(&sample, &wanted, average, seed));
    let rate = |depth| {
        let load = Load { depth, requests: GAIN_REQUESTS, sectors: 8, seed };
        simulate::random_reads(&text.profile(), load).map(|times| times.per_s)
    };
    let gain = rate(32)? / rate(1)?;
    let load = Load { depth: 1, requests: REQUESTS, sectors, seed };
    let times = simulate::random_reads(&text.profile(), load)?;
    let fitted = measurements::of_times(&times.sorted, times.mean);
    let error = search::distance(&wanted, &fitted);
    text.outcome = Some((error, gain));
    let figures = wanted.iter().map(|(name, measured)| {
        let fitted = fitted.iter().find(|(known, _)| known == name).map_or(0.0, |(_, x)| *x);
        FittedFigure { name, measured: *measured, fitted }
    });
    Ok(Fit {
        profile: text.profile(),
        figures: figures.collect(),
        rms_log_error: error,
        gain,
        not_identified: text.not_identified(),
    })
}

/// Where the sectors of such a drive lie, as far as cylinders go.
fn geometry(measurements: &Measurements, text: &Text) -> Result<Geometry, String> {
    let zones = crate::profile::falling_zones(
        Sectors::new(measurements.capacity_bytes / 512),
        text::HEADS,
        text::ZONES,
        text.outer,
        text.inner(),
    )?;
    let shape = |(cylinders, per_track)| ZoneShape {
        cylinders,
        per_track,
        track_skew: 0,
        cylinder_skew: 0,
    };
    let shapes: Vec<ZoneShape> = zones.into_iter().map(shape).collect();
    let capacity = Sectors::new(measurements.capacity_bytes / 512);
    Ok(Geometry::new(text::HEADS, capacity, &shapes))
}

#[cfg(test)]
mod tests;
