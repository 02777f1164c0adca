//! From measurements to a profile with what they leave open.
//!
//! Open are the seek curve, smooth from a settled short seek, and the margin of the firmware's
//! queue; each has a prior. What drives of such numbers do is simulated, under the very loads that
//! were measured, for some hundred drives drawn around where the answer must lie; a parabola in the
//! unknowns stands for the simulation between them (an emulator, O'Hagan 2006). The posterior is
//! drawn from it by random walks, and what it shows decides where the next drives are drawn. Same
//! measurements and seed, same profile.
//!
//! How far the model is off a real drive is found from the figures themselves, so that a drive that
//! no smooth curve meets has a wider posterior.

mod doubt;
mod emulator;
mod extremes;
mod linear;
mod posterior;
mod simulate;
mod text;
mod unknown;
mod wanted;

use drivelab_core::measurements::{Measurements, QUANTILES};
use drivelab_core::{Refusal, Rng};

use emulator::Emulator;
use extremes::Extremes;
use linear::Cholesky;
use posterior::Posterior;
use simulate::{Seen, Task};
use text::{Heading, Text};
use unknown::Unknown;
use wanted::Wanted;

pub use posterior::OFF;
pub use unknown::WRITE_SETTLE;

/// Simulated drives in each round.
const DRIVES: usize = 100;
/// Rounds: as many as it takes until the answer lies among the drives of the last one.
const ROUNDS: std::ops::RangeInclusive<u64> = 3..=10;
/// Requests of each load in each of them: chance is left to the emulator to smooth.
const REQUESTS: u64 = 1_500;
/// Requests behind the scatter that errors follow from, and of the figures that are shown.
const MANY: u64 = 20_000;
/// Draws that a profile holds.
const DRAWS: usize = 200;
/// How much wider than the last posterior the next drives are drawn.
const WIDER: f64 = 1.6;
/// The mean square distance of draws from the centre of a round, in deviations of its drives, up to
/// which they lie among them: 0.4 where the round was drawn around the answer.
const AMONG: f64 = 0.8;

/// One figure: what it is called, what was measured and what the median drive gives.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedFigure {
    /// The key in the measurements file, with the load where it is not the plain one.
    pub name: String,
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
    /// Root mean square of the logarithms of (fitted / measured).
    pub rms_log_error: f64,
    /// What the median drive gains at depth 32.
    pub gain: f64,
    /// What is left of each unknown: its key, and where 95 of 100 draws lie.
    pub left_open: Vec<LeftOpen>,
    /// What these measurements cannot show, and what stands in for it.
    pub not_identified: Vec<String>,
    /// Marks of the measurements, and what the fit makes of those that cast doubt on the figures.
    pub notes: Vec<String>,
}

/// What is left open of one number.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOpen {
    /// Its key in the profile.
    pub key: &'static str,
    /// Half of the draws lie below.
    pub median: f64,
    /// Between these lie 95 draws of 100.
    pub range95: [f64; 2],
    /// `ms`, or nothing.
    pub unit: &'static str,
}

/// Fits a profile called `model` to `measurements`; `command` is what its header says made it.
///
/// # Errors
/// The measurements hold nothing to fit to or are not of the drive, or no drive can be built near
/// them.
pub fn fit(
    model: &str,
    command: &str,
    measurements: &Measurements,
    seed: u64,
) -> Result<Fit, Refusal> {
    let notes = doubt::notes(&measurements.marks)?;
    let rpm = measurements.rpm.ok_or_else(|| {
        Refusal::request(
            "`rpm` is missing in `[drive]`: only disks are fitted, and each turns at a known speed",
        )
        .hint("add `rpm = 7200`, or what the data sheet of the drive says")
    })?;
    let wanted = Wanted::new(measurements);
    if wanted.figures.is_empty() {
        return Err(Refusal::request("the measurements hold nothing to fit to")
            .hint("give `iops`, `mean_ms` or a quantile in `[random_read_qd1]`"));
    }
    let writes =
        measurements.loads.iter().any(|load| load.write) || !measurements.flushes.is_empty();
    let unknowns = Unknown::all(rpm, writes);
    let text = Text::new(measurements, rpm);
    let mut search = Search { wanted, unknowns, text, seed, simulated: 0 };
    let start = search.start(measurements, rpm)?;
    let draws = search.draws(measurements, rpm, start).map_err(Refusal::request)?;
    search.finish(model, command, &draws, notes).map_err(Refusal::request)
}

/// A fit while it goes on.
struct Search<'a> {
    wanted: Wanted,
    unknowns: Vec<Unknown>,
    text: Text<'a>,
    seed: u64,
    simulated: usize,
}

impl Search<'_> {
    /// Where the answer is looked for first: the prior, with the mean seek that is left of a read.
    fn start(&self, measurements: &Measurements, rpm: f64) -> Result<Vec<f64>, Refusal> {
        let mut start = vec![0.0; self.unknowns.len()];
        let Some(typical) = typical_ms(measurements) else { return Ok(start) };
        let revolution = 60_000.0 / rpm;
        let average = typical - revolution / 2.0 - text::OVERHEAD_MS;
        if average <= 0.2 {
            return Err(Refusal::request(format!(
                "a read of {typical:.2} ms leaves no time for a seek after half a revolution of \
                 {revolution:.2} ms"
            ))
            .hint("check `rpm`, and that no cache answered"));
        }
        for (unknown, score) in self.unknowns.iter().zip(&mut start) {
            if unknown.key == "seek_average" {
                *score = unknown.score(average);
            }
        }
        Ok(start)
    }

    /// Scores of drives that the measurements leave possible.
    fn draws(
        &mut self,
        measurements: &Measurements,
        rpm: f64,
        start: Vec<f64>,
    ) -> Result<Vec<Vec<f64>>, String> {
        let width = self.unknowns.len();
        let unit = |row: usize| (0..width).map(|at| f64::from(u8::from(at == row))).collect();
        let mut form = Cholesky::of(&(0..width).map(unit).collect::<Vec<Vec<f64>>>());
        let mut centre = start;
        for round in 0.. {
            let seen = self.seen(&centre, MANY, round)?;
            if round > 0 {
                self.text.extremes = self.extremes(measurements, &seen, rpm);
            }
            let design = self.design(&centre, &form, round);
            let mut figures = Vec::with_capacity(design.len());
            for (number, scores) in (0..).zip(&design) {
                let part = 1000 * (round + 1) + number;
                figures.push(self.wanted.of(&self.seen(scores, REQUESTS, part)?));
            }
            self.simulated += design.len();
            let terms: Vec<Vec<f64>> = design.iter().map(|scores| self.terms(scores)).collect();
            let emulator = Emulator::new(&terms, &figures);
            let covariance = self.wanted.covariance(&seen);
            let posterior = Posterior::new(
                &self.unknowns,
                &emulator,
                &self.wanted,
                &covariance,
                bounds(&design),
            );
            let draws = posterior.draws(&centre, 2 * DRAWS, self.seed + round);
            let is_found = posterior::distance(&draws, &centre, &form) < AMONG;
            if round + 1 >= *ROUNDS.end() || round + 1 >= *ROUNDS.start() && is_found {
                return Ok(draws);
            }
            centre = posterior::centre(&draws);
            let wider = |row: Vec<f64>| row.into_iter().map(|x| x * WIDER * WIDER).collect();
            form = Cholesky::of(
                &posterior::spread(&draws).into_iter().map(wider).collect::<Vec<Vec<f64>>>(),
            );
        }
        unreachable!("the last round returns")
    }

    fn seen(&self, scores: &[f64], requests: u64, part: u64) -> Result<Vec<Seen>, String> {
        let profile = self.text.trial(&self.unknowns, &self.values(scores));
        simulate::observe(&profile, &self.wanted.tasks, requests, self.seed.wrapping_add(part))
    }

    fn design(&self, centre: &[f64], form: &Cholesky, round: u64) -> Vec<Vec<f64>> {
        let mut rng = Rng::for_part(self.seed, 10 + round);
        let one = |_| {
            let normal: Vec<f64> = centre.iter().map(|_| posterior::normal(&mut rng)).collect();
            let moved = form.coloured(&normal);
            centre.iter().zip(moved).map(|(centre, by)| centre + by).collect()
        };
        (0..DRIVES).map(one).collect()
    }

    /// The numbers at these scores. A mean seek is longer than the shortest one.
    fn values(&self, scores: &[f64]) -> Vec<f64> {
        let mut values: Vec<f64> =
            self.unknowns.iter().zip(scores).map(|(one, score)| one.at(*score)).collect();
        let place = |key: &str| self.unknowns.iter().position(|one| one.key == key);
        if let (Some(short), Some(average)) = (place("seek_short"), place("seek_average")) {
            values[short] = values[short].min(0.9 * values[average]);
        }
        values
    }

    fn terms(&self, scores: &[f64]) -> Vec<f64> {
        self.unknowns.iter().zip(scores).map(|(one, score)| one.term(*score)).collect()
    }

    fn extremes(&self, measurements: &Measurements, seen: &[Seen], rpm: f64) -> Extremes {
        let plain =
            |task: &Task| matches!(task, Task::Random { write: false, span: None, depth: 1, .. });
        let place = self.wanted.tasks.iter().position(plain);
        let (Some(place), Some(load)) = (place, measurements.whole(false, 1)) else {
            return Extremes::default();
        };
        if self.text.extremes != Extremes::default() {
            return self.text.extremes;
        }
        let figure = |key| load.figures.get(key);
        let high = [figure("p99_5_ms"), figure("p99_9_ms")];
        Extremes::of(&seen[place], figure("p1_ms"), high, 60_000.0 / rpm)
    }

    fn finish(
        self,
        model: &str,
        command: &str,
        draws: &[Vec<f64>],
        notes: Vec<String>,
    ) -> Result<Fit, String> {
        let middle = middle(draws);
        let values = self.values(&middle);
        let seen = self.seen(&middle, MANY, 0)?;
        let found = self.wanted.of(&seen);
        let figure = |(figure, log): (&wanted::Figure, &f64)| FittedFigure {
            name: figure.name.clone(),
            measured: Wanted::shown(figure, figure.measured),
            fitted: Wanted::shown(figure, *log),
        };
        let figures: Vec<FittedFigure> =
            self.wanted.figures.iter().zip(&found).map(figure).collect();
        let squares = self.wanted.figures.iter().zip(&found).map(|(figure, log)| {
            let off = figure.measured - log;
            off * off
        });
        let error = libm::sqrt(squares.sum::<f64>() / simulate::float(found.len() as u64));
        let random = |depth| Task::Random { write: false, span: None, depth, sectors: 8 };
        let profile = self.text.trial(&self.unknowns, &values);
        let rates = simulate::observe(&profile, &[random(1), random(32)], MANY, self.seed)?;
        let gain = rates[1].per_s / rates[0].per_s;
        let simulations = self.simulated;
        let heading =
            Heading { model, command, seed: self.seed, simulations, error, gain, notes: &notes };
        let kept = draws.iter().step_by(draws.len().div_ceil(DRAWS));
        let posterior: Vec<Vec<f64>> = kept.map(|scores| self.values(scores)).collect();
        let profile = self.text.fitted(heading, &self.unknowns, &values, &posterior);
        let left_open = self.left_open(&posterior);
        let not_identified = self.text.not_identified();
        let rms_log_error = error;
        Ok(Fit { profile, figures, rms_log_error, gain, left_open, not_identified, notes })
    }

    fn left_open(&self, drawn: &[Vec<f64>]) -> Vec<LeftOpen> {
        let of = |(place, unknown): (usize, &Unknown)| {
            let mut values: Vec<f64> = drawn.iter().map(|draw| draw[place]).collect();
            values.sort_unstable_by(f64::total_cmp);
            let at = |permille: usize| values[(values.len() - 1) * permille / 1000];
            let (key, unit) = (unknown.key, unknown.unit);
            LeftOpen { key, median: at(500), range95: [at(25), at(975)], unit }
        };
        self.unknowns.iter().enumerate().map(of).collect()
    }
}

/// The draw nearest to the mean of all: each number is a median, and they go together.
fn middle(draws: &[Vec<f64>]) -> Vec<f64> {
    let centre = posterior::centre(draws);
    let factor = Cholesky::of(&posterior::spread(draws));
    let distance = |draw: &Vec<f64>| {
        let off: Vec<f64> = draw.iter().zip(&centre).map(|(x, mean)| x - mean).collect();
        factor.whitened(&off).iter().map(|x| x * x).sum::<f64>()
    };
    let nearer = |one: &&Vec<f64>, other: &&Vec<f64>| distance(one).total_cmp(&distance(other));
    draws.iter().min_by(nearer).cloned().unwrap_or(centre)
}

/// The lowest and the highest score of each unknown among simulated drives, with a little room.
fn bounds(design: &[Vec<f64>]) -> Vec<[f64; 2]> {
    let width = design.first().map_or(0, Vec::len);
    let of = |at: usize| {
        let scores = || design.iter().map(|row| row[at]);
        let (low, high) =
            (scores().fold(f64::INFINITY, f64::min), scores().fold(f64::NEG_INFINITY, f64::max));
        let room = 0.1 * (high - low);
        [low - room, high + room]
    };
    (0..width).map(of).collect()
}

/// The mean time of a random read of the whole drive, or what is nearest to it.
fn typical_ms(measurements: &Measurements) -> Option<f64> {
    let load = measurements.whole(false, 1)?;
    let figures = &load.figures;
    let mean = load.iops().map(|rate| 1000.0 / rate).or_else(|| figures.get("p50_ms"));
    mean.or_else(|| QUANTILES.iter().find_map(|(key, _)| figures.get(key)))
}

#[cfg(test)]
mod tests;
