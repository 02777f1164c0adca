//! What a fit of reads has to meet: measured rates with their errors.

use drivelab_core::Refusal;
use drivelab_core::measurements::{MEAN_MS, MeasuredLoad, Measurements};

use crate::fit::doubt;
use crate::fit::simulate::{Seen, Task};

/// A rate of random reads, as a logarithm.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    /// What it is called for people.
    pub(super) name: String,
    pub(super) depth: u32,
    /// Sectors of a read.
    pub(super) sectors: u64,
    /// The logarithm of what was measured, in requests a second.
    pub(super) measured: f64,
    /// Its standard error.
    pub(super) error: f64,
}

/// Every rate that was measured and can be fitted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wanted {
    pub(super) figures: Vec<Figure>,
}

/// The error of a rate of a file that does not say, and the least that is believed.
const RATE_ERROR: f64 = 0.01;
const LEAST_ERROR: f64 = 0.002;
/// Reads of more are sequential in all but name, and nothing was held against drives.
const LARGEST: u64 = 128 << 10;
/// Depths of one size, the single read among them: fewer leave the parallel part open.
const DEPTHS: usize = 3;
/// A drive that gains less from depth got one command at a time.
const LEAST_GAIN: f64 = 1.25;
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
        let rate = |depth: u32, sectors: u64| {
            let same = |figure: &&Figure| (figure.depth, figure.sectors) == (depth, sectors);
            self.figures.iter().find(same).map(|figure| figure.measured)
        };
        for deep in self.figures.iter().filter(|figure| figure.depth >= DEEP) {
            let Some(one) = rate(1, deep.sectors) else { continue };
            let gain = libm::exp(deep.measured - one);
            // Of long reads a few fill the wire.
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

    /// The depths at which reads of this size were measured, if one of them is 1.
    fn depths(&self, sectors: u64) -> Vec<u32> {
        let same = self.figures.iter().filter(|figure| figure.sectors == sectors);
        let mut depths: Vec<u32> = same.map(|figure| figure.depth).collect();
        depths.sort_unstable();
        depths.dedup();
        if depths.first() == Some(&1) { depths } else { Vec::new() }
    }

    /// The load of each figure.
    pub(super) fn tasks(&self) -> Vec<Task> {
        let task = |figure: &Figure| Task::Random {
            write: false,
            span: None,
            depth: u64::from(figure.depth),
            sectors: figure.sectors,
        };
        self.figures.iter().map(task).collect()
    }

    /// The logarithms of all figures of a simulation of the tasks.
    pub(super) fn of(seen: &[Seen]) -> Vec<f64> {
        seen.iter().map(|seen| libm::log(seen.per_s)).collect()
    }

    /// The covariance of the errors of measurement.
    pub(super) fn covariance(&self) -> Vec<Vec<f64>> {
        let all = self.figures.len();
        let entry = |row: usize, column: usize| {
            let error = self.figures[row].error;
            if row == column { error * error } else { 0.0 }
        };
        (0..all).map(|row| (0..all).map(|column| entry(row, column)).collect()).collect()
    }

    /// The rate of the shortest reads at depth 1.
    pub(super) fn alone(&self) -> &Figure {
        let alone = self.figures.iter().filter(|figure| figure.depth == 1);
        alone.min_by_key(|figure| figure.sectors).expect("it was checked that there is one")
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
    let alone = |other: &&&MeasuredLoad| (other.iodepth, other.block_bytes) == (1, block_bytes);
    let gained = || {
        let one = all.iter().find(alone)?.iops()?;
        Some(one * load.figures.get("gain")?)
    };
    let rate = load.iops().or_else(gained)?;
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
        error: libm::sqrt(error * error + disturbed * disturbed),
    })
}
