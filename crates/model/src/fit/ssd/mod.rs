//! Fit of solid-state drives to random reads, and to writes with a known history.
//!
//! The unknowns are the number of parallel reads, the times of a page and of the controller, and
//! the rate of a channel. An approximation ([`curve`]) has the rates within some percent;
//! simulations correct it, with a parabola in the unknowns between them.
//!
//! Writes follow for each draw of the reads ([`writes`]): the time of a write before the flash, the
//! rate of sequential writes, and of random ones on a steady drive. Other effects in them depend on
//! history, SLC blocks and the firmware's background work, and are not fitted.

mod curve;
mod found;
mod pages;
mod service;
mod text;
mod unknowns;
mod wanted;
mod writes;
mod written;

use drivelab_core::config::Value as _;
use drivelab_core::measurements::{DriveInterface, Measurements};
use drivelab_core::numbers::float;
use drivelab_core::{Invalid, Refusal};

use super::emulator::Emulator;
use super::heading::Heading;
use super::outcome::{Fit, FitRequest, FittedFigure, LeftOpen};
use super::posterior::{Group, OFF, Posterior};
use super::round::{self, Round, Standing};
use super::simulate::{self, MANY, Seen, Task};
use super::unknown::Unknown;
use crate::controller::{Link, Notice};
use crate::profile::Profile;
use curve::Network;
use found::Found;
use pages::Pages;
use service::Service;
use text::Text;
use unknowns::Numbers;
use wanted::{Figure, Wanted};

/// Simulated drives in each round: twice the coefficients of the parabola.
const DRIVES: usize = 48;
/// Rounds: until the answer is among the drives of the last one.
const ROUNDS: std::ops::RangeInclusive<u64> = 2..=6;
/// Requests of each load for each drive: the emulator smooths the random errors.
const REQUESTS: u64 = 1_000;
/// The mean read of a page in the profiles of the classes, in us, by interface.
const READ_US: [(DriveInterface, f64); 2] =
    [(DriveInterface::Sata, 60.0), (DriveInterface::Nvme, 55.0)];
/// Maximum size of the modelled flash, in bytes.
const MODELLED: u64 = 8 << 30;
/// Queue depth of a SATA drive.
const SATA_TAGS: u32 = 32;

/// Fits a solid-state drive.
///
/// # Errors
/// The measurements have too few random reads, or no drive near them can be built.
pub(super) fn fit(request: FitRequest<'_>, watch: &dyn Fn(Standing)) -> Result<Fit, Refusal> {
    fit_modelled(request, MODELLED, watch)
}

/// Like [`fit`], with at most `modelled` bytes of flash.
fn fit_modelled(
    mut request: FitRequest<'_>,
    modelled: u64,
    watch: &dyn Fn(Standing),
) -> Result<Fit, Refusal> {
    let measurements = request.measurements;
    let (interface, link) = attachment(measurements)?;
    let wanted = Wanted::new(measurements)?;
    request.notes.extend(unused(measurements));
    let mean = READ_US.iter().find(|(of, _)| *of == interface).expect("there are two").1;
    let pages = Pages::new(measurements, mean);
    let text = Text { measurements, interface, pages, modelled };
    let unknowns = unknowns::all(interface);
    let (tasks, seed) = (wanted.tasks(), request.seed);
    let search = Search { wanted, tasks, unknowns, text, link, seed };
    let (draws, simulations) = search.draws(watch)?;
    let fit = search.finish(request, &draws, simulations)?;
    // A profile that does not parse means a capacity outside the model's limits.
    Profile::parse("fit", &fit.profile, &|_| None).map_err(|error| {
        Refusal::request(format!("no drive of this size can be modelled: {error}"))
            .hint("measure the whole drive, not a file or a partition of it")
    })?;
    Ok(fit)
}

/// The attachment from `[drive]`, or the usual one.
fn attachment(measurements: &Measurements) -> Result<(DriveInterface, Link), Refusal> {
    let link = match &measurements.link {
        Some(text) => {
            Some(Link::read(text).map_err(|message| wrong_link(format!("`link`: {message}")))?)
        }
        None => None,
    };
    let interface =
        measurements.interface.or(link.map(interface_of)).unwrap_or(DriveInterface::Sata);
    let usual = match interface {
        DriveInterface::Sata => Link::Sata3,
        DriveInterface::Nvme => Link::Pcie { generation: 3, lanes: 4 },
    };
    let link = link.unwrap_or(usual);
    if interface_of(link) != interface {
        let message = format!("a link of `{link}` does not fit the interface `{interface}`");
        return Err(wrong_link(message));
    }
    Ok((interface, link))
}

fn interface_of(link: Link) -> DriveInterface {
    if link.is_sata() { DriveInterface::Sata } else { DriveInterface::Nvme }
}

fn wrong_link(message: String) -> Refusal {
    Refusal::request(message)
        .hint("write `interface = \"sata\"` with `link = \"3\"`, or `nvme` with `pcie3x4`")
}

/// Notes about measurements that the fit does not use.
fn unused(measurements: &Measurements) -> Vec<String> {
    let mut notes = written::unused(measurements);
    let loads = &measurements.loads;
    if loads.iter().any(|load| !load.write && load.span_bytes.is_some()) {
        notes.push(
            "reads within a part of the drive are not used: in the model an address changes nothing \
             but the die"
                .to_owned(),
        );
    }
    notes
}

/// A fit under way.
struct Search<'a> {
    wanted: Wanted,
    tasks: Vec<Task>,
    unknowns: Vec<Unknown>,
    text: Text<'a>,
    link: Link,
    seed: u64,
}

impl Search<'_> {
    /// Draws scores of drives from the posterior; returns them with the number of simulations.
    fn draws(&self, watch: &dyn Fn(Standing)) -> Result<(Vec<Vec<f64>>, usize), Invalid> {
        let mut round = Round::first(self.start());
        let mut simulations = 0;
        for number in 0.. {
            let design = round.design(DRIVES, self.seed, number);
            let mut off = Vec::with_capacity(design.len());
            for (drive, scores) in (0..).zip(&design) {
                // A different seed for each drive: common random numbers would correlate their
                // errors.
                let part = 1000 * (number + 1) + drive;
                watch(Standing::of(number, drive, design.len() as u64, &ROUNDS));
                let numbers = self.numbers_at(scores);
                let found = Wanted::of(&self.simulated(&numbers, &self.tasks, REQUESTS, part)?);
                let guess = self.approximation(&numbers);
                // The emulator learns only the difference, which is small and smooth.
                off.push(found.iter().zip(guess).map(|(found, guess)| found - guess).collect());
            }
            simulations += design.len();
            let terms: Vec<Vec<f64>> = design.iter().map(|scores| self.terms(scores)).collect();
            let emulator = Emulator::new(&terms, &off);
            let measured = self.wanted.figures.iter().map(|figure| figure.measured).collect();
            let groups = vec![self.group(emulator.variances())];
            let draws = Posterior::new(
                &|scores| self.emulated(&emulator, scores),
                measured,
                round::bounds(&design),
                groups,
            )
            .draws(&round.centre, 2 * round::DRAWS, self.seed + number);
            let is_found = round.covers(&draws);
            if number + 1 >= *ROUNDS.end() || number + 1 >= *ROUNDS.start() && is_found {
                return Ok((draws, simulations));
            }
            round = Round::around(&draws);
        }
        unreachable!("the last round returns")
    }

    /// The figures of a drive with these scores: the approximation, corrected by the emulator.
    fn emulated(&self, emulator: &Emulator, scores: &[f64]) -> Vec<f64> {
        let off = emulator.figures(&self.terms(scores));
        let guess = self.approximation(&self.numbers_at(scores));
        guess.iter().zip(off).map(|(guess, off)| guess + off).collect()
    }

    /// The prior, with the time of a page estimated from the time of a single read.
    fn start(&self) -> Vec<f64> {
        let mut start = vec![0.0; self.unknowns.len()];
        let alone = self.wanted.alone();
        let numbers = self.numbers_at(&start);
        let network = self.network_for(&numbers, alone);
        let pages = self.text.pages.mean_us(numbers.page_read_factor);
        let rest = network.delay + network.wire + network.in_turn * (network.die - pages);
        let left = (1e6 / libm::exp(alone.measured) - rest) / network.in_turn;
        let factor = numbers.page_read_factor * (left / pages).clamp(0.2, 5.0);
        for (unknown, score) in self.unknowns.iter().zip(&mut start) {
            if unknown.key == "page_read_factor" {
                *score = unknown.score(factor).clamp(-4.0, 4.0);
            }
        }
        start
    }

    /// The group of all rates, with a common error of the model. The single read has none, since
    /// its time is the sum of its parts.
    fn group(&self, variances: &[f64]) -> Group {
        let figures = &self.wanted.figures;
        let covariance = self.wanted.covariance();
        let all = (0..figures.len()).collect();
        Group::new(all, &OFF, &covariance, variances, |index| figures[index].depth > 1)
    }

    fn network_for(&self, numbers: &Numbers, figure: &Figure) -> Network {
        let times = self.text.pages.times_us(numbers.page_read_factor);
        let mean = times.iter().sum::<f64>() / 4.0;
        let squares = times.iter().map(|time| (time - mean) * (time - mean)).sum::<f64>() / 4.0;
        let units = float(figure.sectors.div_ceil(8));
        // Reads of up to four units touch one page; longer ones several dies.
        let pages = libm::ceil(units / 4.0);
        let die = mean + numbers.transfer_us() * units / pages;
        let bytes = float(figure.sectors * 512);
        let wire = 1e6 * bytes / float(self.link.bytes_per_s());
        Network {
            delay: numbers.read_processing_us + self.notice_us(),
            die,
            die_scatter: squares / (die * die),
            dies: numbers.dies,
            pages,
            in_turn: pages.min(2.0),
            wire: wire + microseconds(self.link.per_command().ns()) + numbers.command_processing_us,
        }
    }

    /// The logarithms of all figures by the approximation.
    fn approximation(&self, numbers: &Numbers) -> Vec<f64> {
        let tags = match self.text.interface {
            DriveInterface::Sata => SATA_TAGS,
            DriveInterface::Nvme => u32::MAX,
        };
        let figures = self.wanted.figures.iter();
        figures
            .map(|figure| libm::log(self.network_for(numbers, figure).rate(figure.depth.min(tags))))
            .collect()
    }

    fn simulated(
        &self,
        numbers: &Numbers,
        tasks: &[Task],
        requests: u64,
        part: u64,
    ) -> Result<Vec<Seen>, Invalid> {
        let profile = self.text.trial(numbers);
        simulate::observe(&profile, tasks, requests, self.seed.wrapping_add(part))
    }

    fn numbers_at(&self, scores: &[f64]) -> Numbers {
        let values: Vec<f64> =
            self.unknowns.iter().zip(scores).map(|(one, score)| one.at(*score)).collect();
        Numbers::of(&values)
    }

    fn terms(&self, scores: &[f64]) -> Vec<f64> {
        self.unknowns.iter().zip(scores).map(|(one, score)| one.term(*score)).collect()
    }

    fn finish(
        &self,
        request: FitRequest<'_>,
        draws: &[Vec<f64>],
        simulations: usize,
    ) -> Result<Fit, Invalid> {
        let middle = self.numbers_at(&round::middle(draws));
        let kept: Vec<Numbers> = round::kept(draws).map(|scores| self.numbers_at(scores)).collect();
        let of_writes = self.writes(&middle, &kept)?;
        let found = Wanted::of(&self.simulated(&middle, &self.tasks, MANY, 0)?);
        let pairs = self.wanted.figures.iter().zip(&found);
        let figures = pairs.map(|(figure, log)| FittedFigure {
            name: figure.name.clone(),
            measured: libm::exp(figure.measured),
            fitted: libm::exp(*log),
        });
        let figures: Vec<FittedFigure> = figures.chain(of_writes.figures.clone()).collect();
        let squares = figures.iter().map(|figure| {
            let off = libm::log(figure.fitted / figure.measured);
            off * off
        });
        let error = libm::sqrt(squares.sum::<f64>() / float(figures.len() as u64));
        let rates = self.simulated(&middle, &[1, 32].map(Task::random_reads), MANY, 0)?;
        let gain = rates[1].per_s / rates[0].per_s;
        let FitRequest { model, command, seed, mut notes, .. } = request;
        notes.extend(of_writes.notes.iter().cloned());
        let simulations = simulations + of_writes.simulations;
        let heading = Heading { model, command, seed, simulations, error, gain, notes: &notes };
        let left_open = self.posterior_ranges(draws).into_iter().chain(of_writes.left_open.clone());
        Ok(Fit {
            profile: self.text.fitted(heading, (&middle, &kept), &of_writes),
            figures,
            rms_log_error: error,
            gain,
            left_open: left_open.collect(),
            not_identified: self.text.not_identified(&of_writes),
            notes,
        })
    }

    /// Fits the measured writes for each of `draws`.
    fn writes(&self, middle: &Numbers, draws: &[Numbers]) -> Result<Found, Invalid> {
        let Text { measurements, interface, pages, .. } = self.text;
        let service = Service {
            link: self.link,
            notice_us: self.notice_us(),
            program_us: writes::program_us(interface),
            pages,
            capacity_units: float(measurements.capacity_bytes / 4096),
            block_pages: float(self.text.block_pages()),
            parts: float(self.text.parts()),
        };
        let search = writes::Search { text: &self.text, service, seed: self.seed };
        search.found(&written::goals(measurements), middle, draws)
    }

    fn notice_us(&self) -> f64 {
        match self.text.interface {
            DriveInterface::Sata => 0.0,
            DriveInterface::Nvme => microseconds(Notice::Interrupt.latency().ns()),
        }
    }

    /// The posterior ranges, with the time of a page instead of the factor.
    fn posterior_ranges(&self, draws: &[Vec<f64>]) -> Vec<LeftOpen> {
        let mut numbers: Vec<Vec<f64>> = Vec::new();
        for scores in round::kept(draws) {
            let values =
                self.unknowns.iter().zip(scores).map(|(unknown, score)| match unknown.key {
                    "page_read_factor" => self.text.pages.mean_us(unknown.at(*score)),
                    _ => unknown.at(*score),
                });
            numbers.push(values.collect());
        }
        let mut ranges = round::left_open(&self.unknowns, &numbers);
        for range in ranges.iter_mut().filter(|range| range.key == "page_read_factor") {
            (range.key, range.unit) = ("page_read", "us");
        }
        ranges
    }
}

fn microseconds(ns: u64) -> f64 {
    float(ns) / 1e3
}

#[cfg(test)]
mod tests;
