//! The numbers of a drive that writes show, for each draw of those that its reads show.
//!
//! Four are open: what the controller needs for a write, how long the cells program, spare flash
//! and erases; which block is collected is drawn beside them. Writes into the buffer show the
//! first, sequential writes the second, random writes of a steady drive the third together with the
//! second. What was not measured keeps its prior, and so does what a figure leaves open: rates of
//! steady writes alone leave a ridge of slow cells with much spare flash and fast ones with little.
//!
//! For each draw of the reads a drive is drawn from the priors, figures are drawn with the errors
//! of their measurement, and the drive that meets those with the least change is taken ("randomize
//! then optimize", Bardsley et al. 2014): a draw of the posterior where the logarithms of rates are
//! straight lines in the unknowns, which these are nearly. The reads learn nothing from the writes.
//!
//! The arithmetic of [`super::service`] is some percent off, and the simulation says by how much:
//! for the very drives that were drawn, at the scale and with the blocks of the finished profile.
//! Blocks of another size would collect with another write amplification.

use drivelab_core::Rng;
use drivelab_core::measurements::DriveInterface;

use super::found::Found;
use super::service::{Service, WriteNumbers};
use super::text::Text;
use super::unknowns::{Numbers, base};
use super::written::{Goal, What};
use crate::fit::linear::least_squares;
use crate::fit::outcome::{FittedFigure, LeftOpen};
use crate::fit::posterior::normal;
use crate::fit::simulate::{self, float};
use crate::fit::{round, unknown::Unknown};
use crate::options::Options;
use crate::profile::Profile;
use crate::unknown::{Nature, Prior};

const KEYS: [&str; 4] = ["write_processing", "page_program_factor", "spare", "erase"];
const LEAST_US: f64 = 0.01;
/// Simulated drives of each round, and the rounds: the second is at the answer of the first.
const TRIALS: usize = 6;
const ROUNDS: u64 = 2;
/// A drive of the class that is further from a figure than this, as a logarithm, does not have it.
const TOO_FAR: f64 = 0.1;
const STEPS: usize = 8;
/// A rate so near to what gets into the buffer, as a logarithm, is that.
const NEAR: f64 = 0.01;

/// What is searched for, and in what.
pub(super) struct Search<'a> {
    pub(super) text: &'a Text<'a>,
    pub(super) service: Service,
    pub(super) seed: u64,
}

/// How far the simulation is from the arithmetic, a line in the logarithm of the dies; and by how
/// much that scatters.
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

    /// From logarithms of dies and distances.
    fn from(seen: &[(f64, f64)]) -> Self {
        if seen.is_empty() {
            return Self::default();
        }
        let n = float(seen.len() as u64);
        let centre = seen.iter().map(|(dies, _)| dies).sum::<f64>() / n;
        let at = seen.iter().map(|(_, off)| off).sum::<f64>() / n;
        let squares = seen.iter().map(|(dies, _)| (dies - centre) * (dies - centre)).sum::<f64>();
        let products = seen.iter().map(|(dies, off)| (dies - centre) * (off - at)).sum::<f64>();
        let slope = if seen.len() > 3 && squares > 1e-3 { products / squares } else { 0.0 };
        let rest = |(dies, off): &(f64, f64)| off - at - slope * (dies - centre);
        let free = (n - 2.0).max(1.0);
        let scatter = libm::sqrt(seen.iter().map(|one| rest(one) * rest(one)).sum::<f64>() / free);
        Self { at, slope, centre, scatter }
    }
}

/// What a solution starts from.
struct Start {
    scores: Vec<f64>,
    measured: Vec<f64>,
    fifo: bool,
}

impl Search<'_> {
    /// The numbers that go with `middle` and with each of `draws`; nothing where no figure can be
    /// met.
    pub(super) fn found(
        &self,
        goals: &[Goal],
        middle: &Numbers,
        draws: &[Numbers],
    ) -> Result<Found, String> {
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
                .map(|goal| self.simulated(middle, &of_middle, goal.what, 0))
                .collect::<Result<_, _>>()?;
            let off = |place: usize| (fitted[place] - goals[place].measured).abs();
            let worst = (0..goals.len()).max_by(|one, other| off(*one).total_cmp(&off(*other)));
            let worst = worst.expect("there is one");
            if off(worst) > TOO_FAR {
                notes.push(cannot_tell(&goals.remove(worst), fitted[worst]));
                continue;
            }
            notes.extend(system.near_the_limit(middle, &of_middle));
            let solved = system.draws(draws, &corrections);
            let figure = |(goal, fitted): (&Goal, &f64)| FittedFigure {
                name: goal.what.name(),
                measured: libm::exp(goal.measured),
                fitted: libm::exp(*fitted),
            };
            return Ok(Found {
                middle: Some(of_middle),
                left_open: system.left_open(&solved),
                draws: solved,
                met: goals.iter().map(|goal| goal.what).collect(),
                figures: goals.iter().zip(&fitted).map(figure).collect(),
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
        what: What,
        part: u64,
    ) -> Result<f64, String> {
        let text = self.text.written_trial(numbers, writes);
        let profile = Profile::parse("fit.toml", &text, &|_| None).map_err(|e| e.to_string())?;
        let (task, state, requests) = what.task();
        let options = Options { precondition: Some(state), ..Options::default() };
        let seed = self.seed.wrapping_add(part);
        let found = simulate::on(&profile, &options, &[task], requests, seed)?;
        Ok(what.of(&found[0]))
    }
}

fn cannot_tell(goal: &Goal, nearest: f64) -> String {
    format!(
        "cannot tell what decides `{}`, which is not used: {:.4} was measured, and the nearest drive \
         of the class has {:.4}",
        goal.what.name(),
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
        let new = |key| {
            let prior = profile.prior(key).expect("the classes leave it open");
            Unknown::new(key, prior, "us", LEAST_US)
        };
        let unknowns = KEYS.into_iter().map(new).collect();
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

    /// The logarithms of the figures by corrected arithmetic.
    fn figures(
        &self,
        numbers: &Numbers,
        writes: &WriteNumbers,
        corrections: &[Correction],
    ) -> Vec<f64> {
        let of = |(goal, correction): (&Goal, &Correction)| {
            let [dies, buffer] = self.limits(numbers, writes, goal.what);
            let dies = dies + correction.of(numbers);
            // Where the buffer was not the limit, drives that it limits are compared by their dies:
            // the search would see no slope.
            if goal.measured < buffer - NEAR { dies } else { dies.min(buffer) }
        };
        self.goals.iter().zip(corrections).map(of).collect()
    }

    /// The logarithms of what the dies do and of what gets into the buffer, by arithmetic.
    fn limits(&self, numbers: &Numbers, writes: &WriteNumbers, what: What) -> [f64; 2] {
        let service = &self.search.service;
        let limits = match what {
            // A time, which the dies do not limit.
            What::Cached { .. } => {
                let cached = service.cached_us(numbers, writes, 1.0) / 1e3;
                return [libm::log(cached), f64::INFINITY];
            }
            What::Stream { .. } => service.stream(numbers, writes),
            What::Steady { depth } => service.steady(numbers, writes, depth),
        };
        [limits.dies, limits.buffer].map(libm::log)
    }

    /// What is said of rates that dies and wire limit together: the fit takes one of them for the
    /// limit, and is too sure of it.
    fn near_the_limit(&self, numbers: &Numbers, writes: &WriteNumbers) -> Option<String> {
        let is_near = |goal: &&Goal| {
            let [_, buffer] = self.limits(numbers, writes, goal.what);
            (buffer - TOO_FAR..buffer - NEAR).contains(&goal.measured)
        };
        let goal = self.goals.iter().find(is_near)?;
        Some(format!(
            "`{}` is within a tenth of what the drive takes over at most: dies and interface may \
             limit it together, and its predicted range can be too narrow",
            goal.what.name()
        ))
    }

    /// How far the simulation is from the arithmetic where the draws are, for each figure; and how
    /// many drives were simulated.
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
                // Evenly over the dies, other ones in each round.
                let place = (2 * trial + 1) * order.len() / (2 * count);
                let place = order[(place + usize::try_from(round).unwrap_or(0)) % order.len()];
                let (numbers, writes) = (&draws[place], &solved[place]);
                for (goal, seen) in self.goals.iter().zip(&mut seen) {
                    let part = 10_000 + 100 * round + trial as u64;
                    let simulated = self.search.simulated(numbers, writes, goal.what, part);
                    // Of too few blocks no drive can be made: the others tell.
                    let Ok(simulated) = simulated else { continue };
                    let [dies, buffer] = self.limits(numbers, writes, goal.what);
                    // Where the buffer is the limit, the dies are seen to be no slower.
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
        let one = |(number, numbers): (u64, &Numbers)| {
            let mut rng = Rng::for_part(self.search.seed, 50_000 + number);
            let scores = self.unknowns.iter().map(|_| normal(&mut rng)).collect();
            let measured = self.goals.iter().zip(corrections);
            let measured = measured
                .map(|(goal, correction)| {
                    goal.measured + error(goal, correction) * normal(&mut rng)
                })
                .collect();
            let share = rng.unit();
            let name = self.victims.as_ref().map(|it| it.distribution.at(share, Nature::Name).text);
            let start = Start { scores, measured, fifo: name.as_deref() == Some("fifo") };
            self.solved(numbers, &start, corrections)
        };
        (0..).zip(draws).map(one).collect()
    }

    /// The likeliest drive.
    fn middle(&self, numbers: &Numbers, corrections: &[Correction]) -> WriteNumbers {
        let scores = vec![0.0; self.unknowns.len()];
        let measured = self.goals.iter().map(|goal| goal.measured).collect();
        self.solved(numbers, &Start { scores, measured, fifo: false }, corrections)
    }

    /// The drive that meets the figures with the least change, by Gauss and Newton's steps.
    fn solved(&self, numbers: &Numbers, start: &Start, corrections: &[Correction]) -> WriteNumbers {
        let errors: Vec<f64> =
            self.goals.iter().zip(corrections).map(|(goal, it)| error(goal, it)).collect();
        let at =
            |scores: &[f64]| self.figures(numbers, &self.numbers(scores, start.fifo), corrections);
        let mut scores = start.scores.clone();
        for _ in 0..STEPS {
            let here = at(&scores);
            let mut terms = Vec::new();
            let mut wanted = Vec::new();
            for place in 0..scores.len() {
                terms
                    .push((0..scores.len()).map(|own| f64::from(u8::from(own == place))).collect());
                wanted.push(vec![start.scores[place] - scores[place]]);
            }
            let slopes: Vec<Vec<f64>> = (0..scores.len())
                .map(|place| {
                    let mut beside = scores.clone();
                    beside[place] += DIFFERENCE;
                    at(&beside).iter().zip(&here).map(|(b, a)| (b - a) / DIFFERENCE).collect()
                })
                .collect();
            for (goal, error) in errors.iter().enumerate() {
                terms.push(slopes.iter().map(|slope| slope[goal] / error).collect::<Vec<f64>>());
                wanted.push(vec![(start.measured[goal] - here[goal]) / error]);
            }
            let step = least_squares(&terms, &wanted).remove(0);
            for (score, step) in scores.iter_mut().zip(step) {
                *score = (*score + step.clamp(-1.5, 1.5)).clamp(-4.0, 4.0);
            }
        }
        let mut found = self.numbers(&scores, start.fifo);
        found.spare = self.search.service.whole_blocks(numbers, found.spare);
        found
    }

    /// What is left of each number, with the time of a page in place of its factor.
    fn left_open(&self, drawn: &[WriteNumbers]) -> Vec<LeftOpen> {
        let program_us = self.search.service.program_us;
        let values: Vec<Vec<f64>> = drawn
            .iter()
            .map(|it| {
                let program = it.page_program_factor * program_us;
                vec![it.write_processing_us, program, it.spare, it.erase_us]
            })
            .collect();
        let named = |open: LeftOpen| match open.key {
            "page_program_factor" => LeftOpen { key: "page_program", unit: "us", ..open },
            _ => open,
        };
        round::left_open(&self.unknowns, &values).into_iter().map(named).collect()
    }
}

/// The step of a numeric slope, in deviations of the prior.
const DIFFERENCE: f64 = 0.02;

fn error(goal: &Goal, correction: &Correction) -> f64 {
    libm::sqrt(goal.error * goal.error + correction.scatter * correction.scatter)
}

/// The program time of the class, in us.
pub(super) fn program_us(interface: DriveInterface) -> f64 {
    match interface {
        DriveInterface::Sata => 1200.0,
        DriveInterface::Nvme => 800.0,
    }
}
