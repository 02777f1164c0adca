//! The targets of a fit of writes, and measured writes that it cannot use.

use drivelab_core::measurements::{
    FlashState, MeasuredLoad, MeasuredStream, Measurements, Position,
};

use crate::fit::doubt;
use crate::fit::simulate::{Seen, Task};
use crate::options::Precondition;

/// The quantity of a figure of writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Quantity {
    /// The median time of writes into the buffer, in ms.
    Cached { writes: u32 },
    /// Rate of sequential writes of 1 MiB on a drive without random writes before, in MB/s.
    Stream { state: FlashState },
    /// Rate of random writes of 4 KiB on a steady drive, per second.
    Steady { depth: u32 },
}

/// A measured figure of writes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Goal {
    pub(super) quantity: Quantity,
    /// The logarithm of the measured value.
    pub(super) measured: f64,
    /// Its standard error.
    pub(super) error: f64,
}

/// Default error of a figure.
const ERROR: f64 = 0.01;
/// Minimum error of a figure, for systematic effects.
const LEAST_ERROR: f64 = 0.003;
/// Requests of the simulation of each figure, once its buffer of [`BUFFER`] is full.
const BURSTS: u64 = 2_048;
const STREAM: u64 = 96;
const RANDOM: u64 = 12_000;
/// Buffer of a simulated drive, in bytes: the median of SATA drives.
pub(super) const BUFFER: u64 = 32 << 20;
/// Bytes that fill it on a drive that programs up to two thirds of them meanwhile.
const FILLS: u64 = 3 * BUFFER;

impl Quantity {
    /// Its name for people.
    pub(super) fn name(self) -> String {
        match self {
            Self::Cached { writes } => format!("p50_ms, cached writes, {writes} in a burst"),
            Self::Stream { state } => format!("mb_per_s, sequential writes, {state}"),
            Self::Steady { depth } => format!("iops, random writes, depth {depth}, steady"),
        }
    }

    /// The load, the state of the drive, and the number of requests.
    pub(super) fn task(self) -> (Task, Precondition, u64) {
        match self {
            Self::Cached { writes } => {
                (Task::Burst { writes: u64::from(writes) }, Precondition::Full, BURSTS)
            }
            Self::Stream { state } => {
                let (sequential, depth, sectors) = (true, 1, 2048);
                let ramp = FILLS / (sectors * 512);
                let state = match state {
                    FlashState::Fresh => Precondition::Fresh,
                    FlashState::Full | FlashState::Steady => Precondition::Full,
                };
                (Task::Sustained { sequential, depth, sectors, ramp }, state, STREAM)
            }
            Self::Steady { depth } => {
                let (sequential, depth, sectors) = (false, u64::from(depth), 8);
                let ramp = FILLS / (sectors * 512);
                let task = Task::Sustained { sequential, depth, sectors, ramp };
                (task, Precondition::Steady, RANDOM)
            }
        }
    }

    /// The logarithm of the figure, from an observation of its load.
    pub(super) fn of(self, seen: &Seen) -> f64 {
        libm::log(match self {
            Self::Cached { .. } => seen.quantile(0.5),
            // Requests of 1 MiB, in millions of bytes.
            Self::Stream { .. } => seen.per_s * 1.048_576,
            Self::Steady { .. } => seen.per_s,
        })
    }
}

/// All measured figures of writes that can be fitted.
pub(super) fn goals(measurements: &Measurements) -> Vec<Goal> {
    let disturbed = doubt::error(&measurements.marks);
    let mut figures = Vec::new();
    if let Some(burst) = measurements.bursts.first() {
        let quantity = Quantity::Cached { writes: burst.writes.clamp(1, 1024) };
        figures.push((quantity, burst.p50_ms, burst.error));
    }
    if let Some(stream) = measurements.streams.iter().find(|stream| is_fitted(stream)) {
        let state = stream.state.expect("it is one of two");
        figures.push((Quantity::Stream { state }, stream.mb_per_s, None));
    }
    let loads = measurements.loads.iter().filter(|load| load.write && obstacle(load).is_none());
    for load in loads {
        let Some(rate) = load.iops() else { continue };
        figures.push((Quantity::Steady { depth: load.iodepth }, rate, load.rate_error));
    }
    figures
        .into_iter()
        .map(|(quantity, value, error): (_, f64, Option<f64>)| {
            let error = error.unwrap_or(ERROR).max(LEAST_ERROR);
            let error = libm::sqrt(error * error + disturbed * disturbed);
            Goal { quantity, measured: libm::log(value), error }
        })
        .collect()
}

fn is_fitted(stream: &MeasuredStream) -> bool {
    let is_plain = matches!(stream.position, None | Some(Position::Outer));
    let state = matches!(stream.state, Some(FlashState::Fresh | FlashState::Full));
    stream.write && is_plain && state
}

/// The reason for which the rate of random writes cannot be fitted, if any.
fn obstacle(load: &MeasuredLoad) -> Option<String> {
    match load.state {
        None => Some("`state` does not say what was written to the drive before".into()),
        Some(FlashState::Steady) if load.block_bytes != 4096 => {
            Some("only 4 KiB were held against a model of collection".into())
        }
        Some(FlashState::Steady) if load.span_bytes.is_some() => {
            Some("a part of the drive is steady with spare space of its own".into())
        }
        Some(FlashState::Steady) => None,
        Some(state) => {
            Some(format!("of a {state} drive it lasts only until its spare space fills"))
        }
    }
}

/// Notes about measured writes that cannot be fitted.
pub(super) fn unused(measurements: &Measurements) -> Vec<String> {
    let mut notes = Vec::new();
    for load in measurements.loads.iter().filter(|load| load.write) {
        if let Some(why) = obstacle(load) {
            let depth = load.iodepth;
            notes.push(format!(
                "cannot tell what the rate of random writes at depth {depth} shows, which is not \
                 used: {why}"
            ));
        }
    }
    let mut streams = measurements.streams.iter().filter(|stream| stream.write);
    let has_fitted = measurements.streams.iter().any(is_fitted);
    if let Some(stream) = streams.next().filter(|_| !has_fitted) {
        let why = match stream.state {
            None => "`write_state` does not say what was written to the drive before",
            Some(_) => "over a drive written at random they have no rate that lasts",
        };
        notes.push(format!(
            "cannot tell what the rate of sequential writes shows, which is not used: {why}"
        ));
    }
    if !measurements.flushes.is_empty() {
        notes.push(
            "flushes are not used: what the profile says of them is that of the class".into(),
        );
    }
    notes
}
