//! Fit of the numbers that writes show, for each draw of those that reads show.
//!
//! The unknowns are the controller's time for a write, the program time of the cells, spare flash
//! and erases, and the choice of victims. Writes into the buffer show the first, sequential writes
//! the second, random writes on a steady drive the third together with the second. An unknown
//! without a measurement keeps its prior: rates of steady writes alone leave a ridge of slow cells
//! with much spare flash and fast cells with little.
//!
//! For each draw of the reads a drive is drawn from the priors, figures are drawn with their
//! errors, and the nearest drive that meets these figures is a draw of the posterior ("randomize
//! then optimize", Bardsley et al. 2014), exactly if the logarithms of rates are linear in the
//! unknowns, and here nearly. Writes do not change the posterior of the reads.
//!
//! The approximation of [`super::service`] has errors of some percent, which simulations of some of
//! the drawn drives determine, at the scale and with the blocks of the finished profile: other
//! block sizes have other write amplification.

use drivelab_core::measurements::DriveInterface;
use drivelab_core::numbers::float;
use drivelab_core::{Invalid, Rng};

use super::found::Found;
use super::service::{Service, WriteNumbers};
use super::text::Text;
use super::unknowns::{Numbers, base};
use super::written::{Goal, Quantity};
use crate::fit::linear::least_squares;
use crate::fit::outcome::{FittedFigure, LeftOpen};
use crate::fit::posterior::{identity, normal};
use crate::fit::simulate;
use crate::fit::{round, unknown::Unknown};
use crate::options::Options;
use crate::profile::Profile;
use crate::unknown::{Nature, Prior};

const KEYS: [&str; 4] = ["write_processing", "page_program_factor", "spare", "erase"];
const LEAST_US: f64 = 0.01;
/// Simulated drives of each round.
const TRIALS: usize = 6;
/// Rounds; the second corrects at the answer of the first.
const ROUNDS: u64 = 2;
/// Maximum distance of a drive from a figure, as a logarithm; beyond it the figure is not used.
const TOO_FAR: f64 = 0.1;
const STEPS: usize = 8;
/// Distance from the limit of the buffer, as a logarithm, within which a rate counts as limited.
const NEAR: f64 = 0.01;

/// The context of a search.
pub(super) struct Search<'a> {
    pub(super) text: &'a Text<'a>,
    pub(super) service: Service,
    pub(super) seed: u64,
}

/// The correction of the approximation, linear in the logarithm of the dies, and its scatter.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Correction {
    at: f64,
    slope: f64,
    centre: f64,
    scatter: f64,
}

impl Correction {
    fn of(&self, numbers: &Numbers) -> f64 {
        self.at + self.slope * (libm::log(numbers.dies) - self.centre)
    }

    /// Fits a line to pairs of log dies and distance.
    fn from(seen: &[(f64, f64)]) -> Self {
        if seen.is_empty() {
            return Self::default();
        }
        let n = float(seen.len() as u64);
        let centre = seen.iter().map(|(dies, _)| dies).sum::<f64>() / n;
        let at = seen.iter().map(|(_, off)| off).sum::<f64>() / n;
        let squares = seen.iter().map(|(dies, _)| (dies - centre) * (dies - centre)).sum::<f64>();
        let products = seen.iter().map(|(dies, off)| (dies - centre) * (off - at)).sum::<f64>();
        // Too few or too similar numbers of dies show no slope.
        let slope = if seen.len() > 3 && squares > 1e-3 { products / squares } else { 0.0 };
        let free = (n - 2.0).max(1.0);
        let residuals = seen.iter().map(|(dies, off)| off - at - slope * (dies - centre));
        let scatter = libm::sqrt(residuals.map(|rest| rest * rest).sum::<f64>() / free);
        Self { at, slope, centre, scatter }
    }
}

/// The draws for a solution.
struct Start {
    scores: Vec<f64>,
    measured: Vec<f64>,
    fifo: bool,
}

impl Search<'_> {
    /// Fits `goals` for `middle` and for each of `draws`; goals that no drive of the class reaches
    /// become notes.
    pub(super) fn found(
        &self,
        goals: &[Goal],
        middle: &Numbers,
        draws: &[Numbers],
    ) -> Result<Found, Invalid> {
        let (mut goals, mut notes, mut simulations) = (goals.to_vec(), Vec::new(), 0);
        loop {
            if goals.is_empty() {
                return Ok(Found { simulations, notes, ..Found::default() });
            }
            let system = Solver::new(self, &goals);
            let (corrections, trials) = system.corrections(draws);
            simulations += trials;
            let of_middle = system.middle(middle, &corrections);
            let fitted: Vec<f64> = goals
                .iter()
                .map(|goal| self.simulated(middle, &of_middle, goal.quantity, 0))
                .collect::<Result<_, _>>()?;
            let off: Vec<f64> = fitted
                .iter()
                .zip(&goals)
                .map(|(fitted, goal)| (fitted - goal.measured).abs())
                .collect();
            let worst = (0..goals.len()).max_by(|one, other| off[*one].total_cmp(&off[*other]));
            let worst = worst.expect("there is a goal");
            // One at a time: without the worst goal the others may fit.
            if off[worst] > TOO_FAR {
                notes.push(cannot_tell(&goals.remove(worst), fitted[worst]));
                continue;
            }
            notes.extend(system.near_the_limit(middle, &of_middle));
            let solved = system.draws(draws, &corrections);
            let figures = goals.iter().zip(&fitted).map(|(goal, fitted)| FittedFigure {
                name: goal.quantity.name(),
                measured: libm::exp(goal.measured),
                fitted: libm::exp(*fitted),
            });
            return Ok(Found {
                middle: Some(of_middle),
                left_open: system.left_open(&solved),
                draws: solved,
                met: goals.iter().map(|goal| goal.quantity).collect(),
                figures: figures.collect(),
                simulations,
                notes,
            });
        }
    }

    /// The logarithm of a figure of these numbers, by simulation.
    fn simulated(
        &self,
        numbers: &Numbers,
        writes: &WriteNumbers,
        quantity: Quantity,
        part: u64,
    ) -> Result<f64, Invalid> {
        let text = self.text.written_trial(numbers, writes);
        let profile = Profile::parse("fit.toml", &text, &|_| None).map_err(Invalid::new)?;
        let (task, state, requests) = quantity.task();
        let options = Options { precondition: Some(state), ..Options::default() };
        let seed = self.seed.wrapping_add(part);
        let found = simulate::observe_with(&profile, &options, &[task], requests, seed)?;
        Ok(quantity.of(&found[0]))
    }
}

fn cannot_tell(goal: &Goal, nearest: f64) -> String {
    format!(
        "cannot tell what decides `{}`, which is not used: {:.4} was measured, and the nearest drive \
         of the class has {:.4}",
        goal.quantity.name(),
        libm::exp(goal.measured),
        libm::exp(nearest)
    )
}

struct Solver<'a> {
    search: &'a Search<'a>,
    goals: &'a [Goal],
    unknowns: Vec<Unknown>,
    victims: Option<Prior>,
}

impl<'a> Solver<'a> {
    fn new(search: &'a Search<'a>, goals: &'a [Goal]) -> Self {
        let profile = Profile::embedded(base(search.text.interface)).expect("it is included");
        let unknowns = KEYS
            .into_iter()
            .map(|key| {
                let prior = profile.prior(key).expect("the classes leave it open");
                Unknown::new(key, prior, "us", LEAST_US)
            })
            .collect();
        Self { search, goals, unknowns, victims: profile.prior("victims").cloned() }
    }

    fn numbers(&self, scores: &[f64], fifo: bool) -> WriteNumbers {
        let [processing, program, spare, erase] = [0, 1, 2, 3].map(|at| {
            let unknown: &Unknown = &self.unknowns[at];
            unknown.at(scores[at])
        });
        WriteNumbers {
            write_processing_us: processing,
            page_program_factor: program,
            spare,
            erase_us: erase,
            fifo,
        }
    }

    /// The logarithms of the figures by the corrected approximation.
    fn figures(
        &self,
        numbers: &Numbers,
        writes: &WriteNumbers,
        corrections: &[Correction],
    ) -> Vec<f64> {
        let mut logs = Vec::with_capacity(self.goals.len());
        for (goal, correction) in self.goals.iter().zip(corrections) {
            let [dies, buffer] = self.limits(numbers, writes, goal.quantity);
            let dies = dies + correction.of(numbers);
            // If the buffer did not limit the measurement, drives limited by it are compared by
            // their dies: otherwise the search would see no slope.
            logs.push(if goal.measured < buffer - NEAR { dies } else { dies.min(buffer) });
        }
        logs
    }

    /// The logarithms of the limits of dies and buffer, by the approximation.
    fn limits(&self, numbers: &Numbers, writes: &WriteNumbers, quantity: Quantity) -> [f64; 2] {
        let service = &self.search.service;
        let limits = match quantity {
            // A time, independent of the dies.
            Quantity::Cached { .. } => {
                let cached = service.cached_us(numbers, writes, 1.0) / 1e3;
                return [libm::log(cached), f64::INFINITY];
            }
            Quantity::Stream { .. } => service.stream(numbers, writes),
            Quantity::Steady { depth } => service.steady(numbers, writes, depth),
        };
        [limits.dies, limits.buffer].map(libm::log)
    }

    /// The note about a rate near both limits: the fit assumes one of them, with too much
    /// certainty.
    fn near_the_limit(&self, numbers: &Numbers, writes: &WriteNumbers) -> Option<String> {
        let goal = self.goals.iter().find(|goal| {
            let [_, buffer] = self.limits(numbers, writes, goal.quantity);
            (buffer - TOO_FAR..buffer - NEAR).contains(&goal.measured)
        })?;
        Some(format!(
            "`{}` is within a tenth of what the drive takes over at most: dies and interface may \
             limit it together, and its predicted range can be too narrow",
            goal.quantity.name()
        ))
    }

    /// Determines the correction of each figure near the draws; returns them with the number of
    /// simulations.
    fn corrections(&self, draws: &[Numbers]) -> (Vec<Correction>, usize) {
        let mut corrections = vec![Correction::default(); self.goals.len()];
        let mut simulations = 0;
        for round in 0..ROUNDS {
            let solved = self.draws(draws, &corrections);
            let mut order: Vec<usize> = (0..draws.len()).collect();
            order.sort_by(|one, other| draws[*one].dies.total_cmp(&draws[*other].dies));
            let count = TRIALS.min(order.len());
            let mut seen = vec![Vec::new(); self.goals.len()];
            for trial in 0..count {
                // Evenly over the dies, and different draws in each round.
                let rank = (2 * trial + 1) * order.len() / (2 * count);
                let index = order[(rank + usize::try_from(round).unwrap_or(0)) % order.len()];
                let (numbers, writes) = (&draws[index], &solved[index]);
                for (goal, seen) in self.goals.iter().zip(&mut seen) {
                    let part = 10_000 + 100 * round + trial as u64;
                    let simulated = self.search.simulated(numbers, writes, goal.quantity, part);
                    // A drive of too few blocks cannot be built; the others suffice.
                    let Ok(simulated) = simulated else { continue };
                    let [dies, buffer] = self.limits(numbers, writes, goal.quantity);
                    // A rate limited by the buffer only shows that the dies are no slower.
                    if simulated < buffer - NEAR || dies < buffer {
                        seen.push((libm::log(numbers.dies), simulated - dies));
                    }
                }
                simulations += self.goals.len();
            }
            corrections = seen.iter().map(|seen| Correction::from(seen)).collect();
        }
        (corrections, simulations)
    }

    /// A drive for each draw of the reads.
    fn draws(&self, draws: &[Numbers], corrections: &[Correction]) -> Vec<WriteNumbers> {
        let mut solved = Vec::with_capacity(draws.len());
        for (number, numbers) in (0..).zip(draws) {
            let mut rng = Rng::for_part(self.search.seed, 50_000 + number);
            let scores = self.unknowns.iter().map(|_| normal(&mut rng)).collect();
            let goals = self.goals.iter().zip(corrections);
            let measured = goals
                .map(|(goal, correction)| {
                    goal.measured + total_error(goal, correction) * normal(&mut rng)
                })
                .collect();
            let share = rng.unit();
            let name = self.victims.as_ref().map(|it| it.distribution.at(share, Nature::Name).text);
            let start = Start { scores, measured, fifo: name.as_deref() == Some("fifo") };
            solved.push(self.solved(numbers, &start, corrections));
        }
        solved
    }

    /// The likeliest drive.
    fn middle(&self, numbers: &Numbers, corrections: &[Correction]) -> WriteNumbers {
        let scores = vec![0.0; self.unknowns.len()];
        let measured = self.goals.iter().map(|goal| goal.measured).collect();
        self.solved(numbers, &Start { scores, measured, fifo: false }, corrections)
    }

    /// The drive nearest to `start` that meets its figures, by Gauss-Newton steps.
    fn solved(&self, numbers: &Numbers, start: &Start, corrections: &[Correction]) -> WriteNumbers {
        let errors: Vec<f64> =
            self.goals.iter().zip(corrections).map(|(goal, it)| total_error(goal, it)).collect();
        let mut scores = start.scores.clone();
        for _ in 0..STEPS {
            let here = self.figures(numbers, &self.numbers(&scores, start.fifo), corrections);
            let mut terms = Vec::new();
            let mut wanted = Vec::new();
            // The prior: unit deviations from the start.
            for (index, row) in identity(scores.len()).into_iter().enumerate() {
                terms.push(row);
                wanted.push(vec![start.scores[index] - scores[index]]);
            }
            let mut slopes: Vec<Vec<f64>> = Vec::with_capacity(scores.len());
            for index in 0..scores.len() {
                let mut shifted = scores.clone();
                shifted[index] += DIFFERENCE;
                let writes = self.numbers(&shifted, start.fifo);
                let there = self.figures(numbers, &writes, corrections);
                slopes.push(there.iter().zip(&here).map(|(b, a)| (b - a) / DIFFERENCE).collect());
            }
            for (goal, error) in errors.iter().enumerate() {
                terms.push(slopes.iter().map(|slope| slope[goal] / error).collect::<Vec<f64>>());
                wanted.push(vec![(start.measured[goal] - here[goal]) / error]);
            }
            let step = least_squares(&terms, &wanted).remove(0);
            for (score, step) in scores.iter_mut().zip(step) {
                // Limited, since the slopes only hold near these scores.
                *score = (*score + step.clamp(-1.5, 1.5)).clamp(-4.0, 4.0);
            }
        }
        let mut found = self.numbers(&scores, start.fifo);
        // Drives must have whole blocks, as the profile's reader requires.
        found.spare = self.search.service.whole_blocks(numbers, found.spare);
        found
    }

    /// The posterior ranges, with the time of a page instead of its factor.
    fn left_open(&self, drawn: &[WriteNumbers]) -> Vec<LeftOpen> {
        let program_us = self.search.service.program_us;
        let values: Vec<Vec<f64>> = drawn
            .iter()
            .map(|it| {
                let program = it.page_program_factor * program_us;
                vec![it.write_processing_us, program, it.spare, it.erase_us]
            })
            .collect();
        let mut ranges = round::left_open(&self.unknowns, &values);
        for range in ranges.iter_mut().filter(|range| range.key == "page_program_factor") {
            (range.key, range.unit) = ("page_program", "us");
        }
        ranges
    }
}

/// The step of a numeric slope, in deviations of the prior.
const DIFFERENCE: f64 = 0.02;

fn total_error(goal: &Goal, correction: &Correction) -> f64 {
    libm::sqrt(goal.error * goal.error + correction.scatter * correction.scatter)
}

/// The program time of the class, in us.
pub(super) fn program_us(interface: DriveInterface) -> f64 {
    match interface {
        DriveInterface::Sata => 1200.0,
        DriveInterface::Nvme => 800.0,
    }
}
