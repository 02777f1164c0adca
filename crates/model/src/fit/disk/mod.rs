//! Hard disks, fitted to reads, writes and flushes.
//!
//! Open are the seek curve, smooth from a settled short seek, and the margin of the firmware's
//! queue; each has a prior. A parabola in the unknowns stands for the simulation, whose drives are
//! drawn around where the answer must lie.

mod extremes;
mod text;
mod unknowns;
mod wanted;

use drivelab_core::Refusal;
use drivelab_core::measurements::{Measurements, QUANTILES};

use super::emulator::Emulator;
use super::heading::Heading;
use super::outcome::{Asked, Fit, FittedFigure};
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
/// Rounds: as many as it takes until the answer lies among the drives of the last one.
const ROUNDS: std::ops::RangeInclusive<u64> = 3..=10;
/// Requests of each load in each of them: chance is left to the emulator to smooth.
const REQUESTS: u64 = 1_500;
/// Fewer rates than this do not show how far the model is off them.
const RATES: usize = 3;

/// Fits a disk that turns at `rpm`.
///
/// # Errors
/// The measurements hold nothing to fit to, or no disk can be built near them.
pub(super) fn fit(asked: Asked<'_>, rpm: f64, watch: &dyn Fn(Standing)) -> Result<Fit, Refusal> {
    let measurements = asked.measurements;
    let wanted = Wanted::new(measurements);
    if wanted.figures.is_empty() {
        return Err(Refusal::request("the measurements hold nothing to fit to")
            .hint("give `iops`, `mean_ms` or a quantile in `[random_read_qd1]`"));
    }
    let writes =
        measurements.loads.iter().any(|load| load.write) || !measurements.flushes.is_empty();
    let unknowns = unknowns::all(rpm, writes);
    let text = Text::new(measurements, rpm);
    let mut search = Search { wanted, unknowns, text, seed: asked.seed, simulated: 0 };
    let start = search.start(measurements, rpm)?;
    let draws = search.draws((measurements, rpm), start, watch).map_err(Refusal::request)?;
    search.finish(asked, &draws).map_err(Refusal::request)
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

    /// Scores of drives that the measurements leave possible.
    fn draws(
        &mut self,
        (measurements, rpm): (&Measurements, f64),
        start: Vec<f64>,
        watch: &dyn Fn(Standing),
    ) -> Result<Vec<Vec<f64>>, String> {
        let mut round = Round::first(start);
        for number in 0.. {
            let seen = self.seen(&round.centre, MANY, number)?;
            if number > 0 {
                self.text.extremes = self.extremes(measurements, &seen, rpm);
            }
            let design = round.design(DRIVES, self.seed, number);
            let mut figures = Vec::with_capacity(design.len());
            for (drive, scores) in (0..).zip(&design) {
                let part = 1000 * (number + 1) + drive;
                watch(Standing::of(number, drive, design.len() as u64, &ROUNDS));
                figures.push(self.wanted.of(&self.seen(scores, REQUESTS, part)?));
            }
            self.simulated += design.len();
            let terms: Vec<Vec<f64>> = design.iter().map(|scores| self.terms(scores)).collect();
            let emulator = Emulator::new(&terms, &figures);
            let covariance = self.wanted.covariance(&seen);
            let emulated = |scores: &[f64]| emulator.figures(&self.terms(scores));
            let measured = self.wanted.figures.iter().map(|figure| figure.measured).collect();
            let groups = self.groups(&covariance, emulator.variances());
            let posterior = Posterior::new(&emulated, measured, round::bounds(&design), groups);
            let draws = posterior.draws(&round.centre, 2 * round::DRAWS, self.seed + number);
            let is_found = round.holds(&draws);
            if number + 1 >= *ROUNDS.end() || number + 1 >= *ROUNDS.start() && is_found {
                return Ok(draws);
            }
            round = Round::around(&draws);
        }
        unreachable!("the last round returns")
    }

    /// Figures that the model may be off together: the form of the distribution, and the rates.
    fn groups(&self, covariance: &[Vec<f64>], variances: &[f64]) -> Vec<posterior::Group> {
        let places = |rates: bool| -> Vec<usize> {
            let figures = self.wanted.figures.iter().enumerate();
            let wanted = figures.filter(|(_, figure)| Wanted::is_rate(figure) == rates);
            wanted.map(|(place, _)| place).collect()
        };
        let may_be_off = |at: usize| {
            let figure = &self.wanted.figures[at];
            Wanted::is_quantile(figure) || Wanted::is_rate(figure)
        };
        let (shape, rates) = (places(false), places(true));
        let off = if rates.len() >= RATES { &OFF[..] } else { &OFF[..1] };
        [(shape, &OFF[..]), (rates, off)]
            .into_iter()
            .filter(|(places, _)| !places.is_empty())
            .map(|(places, off)| {
                posterior::Group::new(places, off, covariance, variances, may_be_off)
            })
            .collect()
    }

    fn seen(&self, scores: &[f64], requests: u64, part: u64) -> Result<Vec<Seen>, String> {
        let profile = self.text.trial(&self.unknowns, &self.values(scores));
        simulate::observe(&profile, &self.wanted.tasks, requests, self.seed.wrapping_add(part))
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

    fn finish(self, asked: Asked<'_>, draws: &[Vec<f64>]) -> Result<Fit, String> {
        let Asked { model, command, notes, .. } = asked;
        let middle = round::middle(draws);
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
        let posterior: Vec<Vec<f64>> =
            round::kept(draws).map(|scores| self.values(scores)).collect();
        let profile = self.text.fitted(heading, &self.unknowns, &values, &posterior);
        let left_open = round::left_open(&self.unknowns, &posterior);
        let not_identified = self.text.not_identified();
        let rms_log_error = error;
        Ok(Fit { profile, figures, rms_log_error, gain, left_open, not_identified, notes })
    }
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
