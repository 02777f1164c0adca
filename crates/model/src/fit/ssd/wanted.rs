//! The targets of a fit of reads: measured rates with their errors.

use drivelab_core::Refusal;
use drivelab_core::measurements::{MEAN_MS, MeasuredLoad, Measurements};

use crate::fit::doubt;
use crate::fit::simulate::{Seen, Task};

/// The logarithm of a rate of random reads.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    /// Its name for people.
    pub(super) name: String,
    pub(super) depth: u32,
    /// Sectors of a read.
    pub(super) sectors: u64,
    /// The logarithm of the measured rate, in requests per second.
    pub(super) measured: f64,
    /// Its standard error.
    pub(super) error: f64,
}

/// All measured rates that can be fitted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub(super) figures: Vec<Figure>,
}

/// Default error of a rate.
const RATE_ERROR: f64 = 0.01;
/// Minimum error of a rate, for systematic effects.
const LEAST_ERROR: f64 = 0.002;
/// Maximum size of a random read; longer ones are practically sequential, and were not compared
/// with drives.
const LARGEST: u64 = 128 << 10;
/// Minimum depths of one size, including depth 1: fewer do not show the parallel part.
const DEPTHS: usize = 3;
/// Minimum gain from depth; a drive below it received one command at a time.
const LEAST_GAIN: f64 = 1.25;
/// Minimum depth for that check.
const DEEP: u32 = 8;

impl Wanted {
    /// The random reads of the whole drive.
    ///
    /// # Errors
    /// They are too few to show anything, or come from a drive that got one command at a time.
    pub(super) fn new(measurements: &Measurements) -> Result<Self, Refusal> {
        let disturbed = doubt::error(&measurements.marks);
        let loads: Vec<&MeasuredLoad> =
            measurements.loads.iter().filter(|load| is_used(load)).collect();
        let figures: Vec<Figure> =
            loads.iter().filter_map(|load| figure(load, &loads, disturbed)).collect();
        let wanted = Self { figures };
        wanted.check()?;
        Ok(wanted)
    }

    fn check(&self) -> Result<(), Refusal> {
        if !self.figures.iter().any(|figure| figure.depth == 1) {
            return Err(Refusal::request(
                "no random reads of the whole drive at depth 1: what a read takes alone is unknown",
            )
            .hint("add `iops` or `mean_ms` to `[random_read_qd1]`")
            .hint(MEASURE));
        }
        let most = self.figures.iter().map(|figure| self.depths(figure.sectors).len()).max();
        if most.unwrap_or(0) < DEPTHS {
            return Err(Refusal::request(format!(
                "random reads of the whole drive at {} depths: a fit needs 1 and two more of one \
                 size, or parallel work cannot be distinguished from work that takes turns",
                most.unwrap_or(0)
            ))
            .hint("add `[random_read_qd8]` and `[random_read_qd32]`")
            .hint(MEASURE));
        }
        self.check_gain()
    }

    fn check_gain(&self) -> Result<(), Refusal> {
        for deep in self.figures.iter().filter(|figure| figure.depth >= DEEP) {
            let mut figures = self.figures.iter();
            let single = figures.find(|it| (it.depth, it.sectors) == (1, deep.sectors));
            let Some(single) = single else { continue };
            let gain = libm::exp(deep.measured - single.measured);
            // A few long reads fill the wire, so these gain little on any drive.
            if gain < LEAST_GAIN && deep.sectors <= 8 {
                return Err(Refusal::request(format!(
                    "depth {} gives {gain:.2} times the rate of depth 1: the drive got one command \
                     at a time",
                    deep.depth
                ))
                .hint("check that the controller is not in IDE mode: `drivelab inspect`")
                .hint("check that native command queuing is on, then measure again"));
            }
        }
        Ok(())
    }

    /// The measured depths for reads of this size; empty without depth 1.
    fn depths(&self, sectors: u64) -> Vec<u32> {
        let same = self.figures.iter().filter(|figure| figure.sectors == sectors);
        let mut depths: Vec<u32> = same.map(|figure| figure.depth).collect();
        depths.sort_unstable();
        depths.dedup();
        if depths.first() == Some(&1) { depths } else { Vec::new() }
    }

    /// The load of each figure.
    pub(super) fn tasks(&self) -> Vec<Task> {
        let figures = self.figures.iter();
        figures
            .map(|figure| Task::Random {
                write: false,
                span: None,
                depth: u64::from(figure.depth),
                sectors: figure.sectors,
            })
            .collect()
    }

    /// The logarithms of all figures of a simulation of the tasks.
    pub(super) fn of(seen: &[Seen]) -> Vec<f64> {
        seen.iter().map(|seen| libm::log(seen.per_s)).collect()
    }

    /// The covariance of the errors of measurement.
    pub(super) fn covariance(&self) -> Vec<Vec<f64>> {
        // Each rate comes from a separate run, so their errors are independent.
        let width = self.figures.len();
        let mut matrix = vec![vec![0.0; width]; width];
        for (index, figure) in self.figures.iter().enumerate() {
            matrix[index][index] = figure.error * figure.error;
        }
        matrix
    }

    /// The rate of the shortest reads at depth 1.
    pub(super) fn alone(&self) -> &Figure {
        let singles = self.figures.iter().filter(|figure| figure.depth == 1);
        singles.min_by_key(|figure| figure.sectors).expect("`check` requires one")
    }
}

const MEASURE: &str =
    "`drivelab drive measure TARGET --out FILE` reads at depths 1 to 32 in two minutes";

fn is_used(load: &MeasuredLoad) -> bool {
    let is_read = !load.write && load.span_bytes.is_none();
    is_read && load.block_bytes <= LARGEST
}

fn figure(load: &MeasuredLoad, all: &[&MeasuredLoad], disturbed: f64) -> Option<Figure> {
    let MeasuredLoad { iodepth, block_bytes, .. } = *load;
    let rate = if let Some(rate) = load.iops() {
        rate
    } else {
        // A gain is relative to the single read of the same size.
        let mut loads = all.iter();
        let single = loads.find(|it| (it.iodepth, it.block_bytes) == (1, block_bytes))?;
        single.iops()? * load.figures.get("gain")?
    };
    let error = load.rate_error.unwrap_or(RATE_ERROR).max(LEAST_ERROR);
    let key = match (load.figures.get("iops"), load.figures.get(MEAN_MS)) {
        (None, Some(_)) => "iops of mean_ms",
        (None, None) => "iops of gain",
        _ => "iops",
    };
    let size = if block_bytes == 4096 { String::new() } else { format!(", {block_bytes} bytes") };
    Some(Figure {
        name: format!("{key}{size}, depth {iodepth}"),
        depth: iodepth,
        sectors: (block_bytes / 512).max(1),
        measured: libm::log(rate),
        // Errors of the drive and of the disturbance are independent.
        error: libm::sqrt(error * error + disturbed * disturbed),
    })
}
