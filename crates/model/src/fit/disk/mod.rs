//! Fit of hard disks to reads, writes and flushes.
//!
//! The unknowns are the seek curve, smooth from a settled short seek, and the margin of the
//! firmware's queue; each has a prior. A parabola in the unknowns emulates the simulation of drives
//! near the expected answer.

mod extremes;
mod text;
mod unknowns;
mod wanted;

use drivelab_core::measurements::{Measurements, QUANTILES};
use drivelab_core::numbers::float;
use drivelab_core::{Invalid, Refusal};

use super::emulator::Emulator;
use super::heading::Heading;
use super::outcome::{Fit, FitRequest, FittedFigure};
use super::posterior::{self, OFF, Posterior};
use super::round::{self, Round, Standing};
use super::simulate::{self, MANY, Seen, Task};
use super::unknown::Unknown;
use extremes::Extremes;
use text::Text;
use wanted::Wanted;

pub use unknowns::WRITE_SETTLE;

/// Simulated drives in each round.
const DRIVES: usize = 100;
/// Rounds: until the answer is among the drives of the last one.
const ROUNDS: std::ops::RangeInclusive<u64> = 3..=10;
/// Requests of each load for each drive: the emulator smooths the random errors.
const REQUESTS: u64 = 1_500;
/// Minimum of rates that show the error of the model.
const RATES: usize = 3;

/// Fits a disk of `rpm` revolutions per minute.
///
/// # Errors
/// The measurements have nothing to fit, or no disk near them can be built.
pub(super) fn fit(
    request: FitRequest<'_>,
    rpm: f64,
    watch: &dyn Fn(Standing),
) -> Result<Fit, Refusal> {
    let measurements = request.measurements;
    let wanted = Wanted::new(measurements);
    if wanted.figures.is_empty() {
        return Err(Refusal::request("the measurements hold nothing to fit to")
            .hint("give `iops`, `mean_ms` or a quantile in `[random_read_qd1]`"));
    }
    let writes =
        measurements.loads.iter().any(|load| load.write) || !measurements.flushes.is_empty();
    let unknowns = unknowns::all(rpm, writes);
    let text = Text::new(measurements, rpm);
    let mut search = Search { wanted, unknowns, text, seed: request.seed, simulated: 0 };
    let start = search.start(measurements, rpm)?;
    let draws = search.draws((measurements, rpm), start, watch)?;
    search.finish(request, &draws).map_err(Refusal::request)
}

/// A fit under way.
struct Search<'a> {
    wanted: Wanted,
    unknowns: Vec<Unknown>,
    text: Text<'a>,
    seed: u64,
    simulated: usize,
}

impl Search<'_> {
    /// The first centre: the prior, with the mean seek estimated from the time of a read.
    fn start(&self, measurements: &Measurements, rpm: f64) -> Result<Vec<f64>, Refusal> {
        let mut start = vec![0.0; self.unknowns.len()];
        let Some(typical) = typical_ms(measurements) else { return Ok(start) };
        let revolution = 60_000.0 / rpm;
        // The measured time minus half a revolution and the firmware is the mean seek.
        let average = typical - revolution / 2.0 - text::OVERHEAD_MS;
        if average <= 0.2 {
            return Err(Refusal::request(format!(
                "a read of {typical:.2} ms leaves no time for a seek after half a revolution of \
                 {revolution:.2} ms"
            ))
            .hint("check `rpm`, and that no cache answered")
            .hint("if the drive is solid-state, write `kind = \"ssd\"` in place of `rpm`"));
        }
        for (unknown, score) in self.unknowns.iter().zip(&mut start) {
            if unknown.key == "seek_average" {
                *score = unknown.score(average);
            }
        }
        Ok(start)
    }

    /// Draws scores of drives from the posterior.
    fn draws(
        &mut self,
        (measurements, rpm): (&Measurements, f64),
        start: Vec<f64>,
        watch: &dyn Fn(Standing),
    ) -> Result<Vec<Vec<f64>>, Invalid> {
        let mut round = Round::first(start);
        for number in 0.. {
            let seen = self.simulated(&round.centre, MANY, number)?;
            if number > 0 {
                // The first centre is too far from the answer to distinguish retries from long
                // seeks.
                self.text.extremes = self.extremes(measurements, &seen, rpm);
            }
            let design = round.design(DRIVES, self.seed, number);
            let mut figures = Vec::with_capacity(design.len());
            for (drive, scores) in (0..).zip(&design) {
                // A different seed for each drive: common random numbers would correlate their
                // errors.
                let part = 1000 * (number + 1) + drive;
                watch(Standing::of(number, drive, design.len() as u64, &ROUNDS));
                figures.push(self.wanted.of(&self.simulated(scores, REQUESTS, part)?));
            }
            self.simulated += design.len();
            let terms: Vec<Vec<f64>> = design.iter().map(|scores| self.terms(scores)).collect();
            let emulator = Emulator::new(&terms, &figures);
            let covariance = self.wanted.covariance(&seen);
            let measured = self.wanted.figures.iter().map(|figure| figure.measured).collect();
            let groups = self.figure_groups(&covariance, emulator.variances());
            let draws = Posterior::new(
                &|scores| emulator.figures(&self.terms(scores)),
                measured,
                round::bounds(&design),
                groups,
            )
            .draws(&round.centre, 2 * round::DRAWS, self.seed + number);
            let is_found = round.covers(&draws);
            if number + 1 >= *ROUNDS.end() || number + 1 >= *ROUNDS.start() && is_found {
                return Ok(draws);
            }
            round = Round::around(&draws);
        }
        unreachable!("the last round returns")
    }

    /// Groups of figures with a common error of the model: the form of the distribution, and rates.
    fn figure_groups(&self, covariance: &[Vec<f64>], variances: &[f64]) -> Vec<posterior::Group> {
        let (rates, shape): (Vec<usize>, Vec<usize>) = (0..self.wanted.figures.len())
            .partition(|index| Wanted::is_rate(&self.wanted.figures[*index]));
        let off = if rates.len() >= RATES { &OFF[..] } else { &OFF[..1] };
        [(shape, &OFF[..]), (rates, off)]
            .into_iter()
            .filter(|(indices, _)| !indices.is_empty())
            .map(|(indices, off)| {
                posterior::Group::new(indices, off, covariance, variances, |index| {
                    let figure = &self.wanted.figures[index];
                    Wanted::is_quantile(figure) || Wanted::is_rate(figure)
                })
            })
            .collect()
    }

    fn simulated(&self, scores: &[f64], requests: u64, part: u64) -> Result<Vec<Seen>, Invalid> {
        let profile = self.text.trial(&self.unknowns, &self.values_at(scores));
        simulate::observe(&profile, &self.wanted.tasks, requests, self.seed.wrapping_add(part))
    }

    /// The numbers at these scores. The shortest seek is limited to nine tenths of the mean seek.
    fn values_at(&self, scores: &[f64]) -> Vec<f64> {
        let mut values: Vec<f64> =
            self.unknowns.iter().zip(scores).map(|(one, score)| one.at(*score)).collect();
        let [short, average] = ["seek_short", "seek_average"]
            .map(|key| self.unknowns.iter().position(|unknown| unknown.key == key));
        if let (Some(short), Some(average)) = (short, average) {
            values[short] = values[short].min(0.9 * values[average]);
        }
        values
    }

    fn terms(&self, scores: &[f64]) -> Vec<f64> {
        self.unknowns.iter().zip(scores).map(|(one, score)| one.term(*score)).collect()
    }

    fn extremes(&self, measurements: &Measurements, seen: &[Seen], rpm: f64) -> Extremes {
        let plain = self.wanted.tasks.iter().position(|task| {
            matches!(task, Task::Random { write: false, span: None, depth: 1, .. })
        });
        let (Some(plain), Some(load)) = (plain, measurements.whole(false, 1)) else {
            return Extremes::default();
        };
        // Kept once found: a change between rounds would move the target of the fit.
        if self.text.extremes != Extremes::default() {
            return self.text.extremes;
        }
        let [low, high, highest] =
            ["p1_ms", "p99_5_ms", "p99_9_ms"].map(|key| load.figures.get(key));
        Extremes::of(&seen[plain], low, [high, highest], 60_000.0 / rpm)
    }

    fn finish(self, request: FitRequest<'_>, draws: &[Vec<f64>]) -> Result<Fit, Invalid> {
        let FitRequest { model, command, notes, .. } = request;
        let middle = round::middle(draws);
        let values = self.values_at(&middle);
        let seen = self.simulated(&middle, MANY, 0)?;
        let found = self.wanted.of(&seen);
        let pairs = self.wanted.figures.iter().zip(&found);
        let figures: Vec<FittedFigure> = pairs
            .map(|(figure, log)| FittedFigure {
                name: figure.name.clone(),
                measured: Wanted::shown(figure, figure.measured),
                fitted: Wanted::shown(figure, *log),
            })
            .collect();
        let squares = self.wanted.figures.iter().zip(&found).map(|(figure, log)| {
            let off = figure.measured - log;
            off * off
        });
        let error = libm::sqrt(squares.sum::<f64>() / float(found.len() as u64));
        let profile = self.text.trial(&self.unknowns, &values);
        let tasks = [1, 32].map(Task::random_reads);
        let rates = simulate::observe(&profile, &tasks, MANY, self.seed)?;
        let gain = rates[1].per_s / rates[0].per_s;
        let simulations = self.simulated;
        let heading =
            Heading { model, command, seed: self.seed, simulations, error, gain, notes: &notes };
        let posterior: Vec<Vec<f64>> =
            round::kept(draws).map(|scores| self.values_at(scores)).collect();
        let profile = self.text.fitted(heading, &self.unknowns, &values, &posterior);
        let left_open = round::left_open(&self.unknowns, &posterior);
        let not_identified = self.text.not_identified();
        let rms_log_error = error;
        Ok(Fit { profile, figures, rms_log_error, gain, left_open, not_identified, notes })
    }
}

/// The mean time of a random read of the whole drive, or the median or another quantile.
fn typical_ms(measurements: &Measurements) -> Option<f64> {
    let load = measurements.whole(false, 1)?;
    let figures = &load.figures;
    let mean = load.iops().map(|rate| 1000.0 / rate).or_else(|| figures.get("p50_ms"));
    mean.or_else(|| QUANTILES.iter().find_map(|(key, _)| figures.get(key)))
}

#[cfg(test)]
mod tests;
