//! The targets of a fit: measured figures with their errors.

use drivelab_core::measurements::{MEAN_MS, MeasuredLoad, Measurements, QUANTILES};
use drivelab_core::numbers::float;

use crate::fit::doubt;
use crate::fit::simulate::{Seen, Task};

/// The logarithm of a figure.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    /// Its name for people: the key, and the load unless it is the plain one.
    pub(super) name: String,
    kind: Kind,
    task: usize,
    /// The logarithm of the measured value.
    pub(super) measured: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// The mean time of one request at a time.
    Mean,
    /// A quantile of that time.
    Quantile(f64),
    /// A rate, with its standard error.
    Rate(f64),
    /// A rate over that of another task.
    Gain { over: usize, error: f64 },
    /// The mean time of a flush.
    Flush(f64),
}

/// All measured figures that can be fitted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Wanted {
    pub(super) tasks: Vec<Task>,
    pub(super) figures: Vec<Figure>,
    /// Requests behind the times of each task.
    requests: Vec<f64>,
    /// The additional common error of all figures of a task, if they were disturbed.
    disturbed: f64,
}

/// Default number of requests: a minute of a disk.
const REQUESTS: f64 = 3000.0;

/// Default error of a rate.
const RATE_ERROR: f64 = 0.01;

/// Quantiles that depend on one read in a hundred: on retries and cache hits, which `extremes` fits
/// separately, not on the mechanics.
const EXTREMES: [&str; 3] = ["p1_ms", "p99_5_ms", "p99_9_ms"];

impl Wanted {
    pub(super) fn new(measured: &Measurements) -> Self {
        let mut wanted = Self { disturbed: doubt::error(&measured.marks), ..Self::default() };
        for load in &measured.loads {
            wanted.add(load);
        }
        for flush in &measured.flushes {
            let task = wanted.task_index(Task::Flush { writes: u64::from(flush.writes) }, 1.0);
            let error = flush.mean_error.unwrap_or(RATE_ERROR).max(0.002);
            let name = format!("flush after {} writes, ms", flush.writes);
            wanted.figure(name, Kind::Flush(error), task, flush.mean_ms);
        }
        wanted
    }

    fn add(&mut self, load: &MeasuredLoad) {
        let MeasuredLoad { write, span_bytes, iodepth, block_bytes, ref figures, .. } = *load;
        let (span, sectors) = (span_bytes.map(|bytes| bytes / 512), (block_bytes / 512).max(1));
        let requests = load.requests.map_or(REQUESTS, float);
        let plain = Task::Random { write, span, depth: 1, sectors };
        let deep = Task::Random { write, span, depth: u64::from(iodepth), sectors };
        // Errors below 0.2 % would make the fit trust a figure more than any drive repeats it.
        let error = load.rate_error.unwrap_or(RATE_ERROR).max(0.002);
        if write || iodepth > 1 {
            let rate = load.iops();
            if let Some(rate) = rate {
                let task = self.task_index(deep, requests);
                self.figure(figure_name(load, "iops"), Kind::Rate(error), task, rate);
            } else if let Some(gain) = figures.get("gain") {
                let over = self.task_index(plain, requests);
                let task = self.task_index(deep, requests);
                self.figure(figure_name(load, "gain"), Kind::Gain { over, error }, task, gain);
            }
            return;
        }
        let key = if figures.get(MEAN_MS).is_some() { MEAN_MS } else { "iops" };
        if let Some(rate) = load.iops() {
            let task = self.task_index(plain, requests);
            let mean_ms = figures.get(MEAN_MS).unwrap_or(1e3 / rate);
            self.figure(figure_name(load, key), Kind::Mean, task, mean_ms);
        }
        for (key, share) in QUANTILES {
            let Some(value) = figures.get(key).filter(|_| !EXTREMES.contains(&key)) else {
                continue;
            };
            let task = self.task_index(plain, requests);
            self.figure(figure_name(load, key), Kind::Quantile(share), task, value);
        }
    }

    fn task_index(&mut self, task: Task, requests: f64) -> usize {
        let known = self.tasks.iter().position(|known| *known == task);
        known.unwrap_or_else(|| {
            self.tasks.push(task);
            self.requests.push(requests);
            self.tasks.len() - 1
        })
    }

    fn figure(&mut self, name: String, kind: Kind, task: usize, value: f64) {
        debug_assert!(task < self.tasks.len() && value > 0.0, "{name}: {value} of task {task}");
        self.figures.push(Figure { name, kind, task, measured: libm::log(value) });
    }

    /// The logarithms of all figures of a simulation of the tasks.
    pub(super) fn of(&self, seen: &[Seen]) -> Vec<f64> {
        debug_assert_eq!(seen.len(), self.tasks.len(), "one observation for each task");
        let mut logs = Vec::with_capacity(self.figures.len());
        for figure in &self.figures {
            let it = &seen[figure.task];
            logs.push(libm::log(match figure.kind {
                Kind::Mean | Kind::Flush(_) => it.mean.max(1e-6),
                Kind::Quantile(share) => it.quantile(share).max(1e-6),
                Kind::Rate(_) => it.per_s,
                Kind::Gain { over, .. } => it.per_s / seen[over].per_s,
            }));
        }
        logs
    }

    /// The figure in its unit: a rate for a mean that was given as one.
    pub(super) fn shown(figure: &Figure, log: f64) -> f64 {
        let value = libm::exp(log);
        if figure.kind == Kind::Mean && figure.name.starts_with("iops") {
            return 1e3 / value;
        }
        value
    }

    /// The covariance of the errors of measurement, for times distributed as in `seen`.
    ///
    /// The mean and the quantiles of one sample have correlated errors: each is, to first order,
    /// the mean of an influence over the sample (Hampel 1974, "The influence curve and its role in
    /// robust estimation").
    pub(super) fn covariance(&self, seen: &[Seen]) -> Vec<Vec<f64>> {
        let influences: Vec<Option<Vec<f64>>> =
            self.figures.iter().map(|figure| influence(figure, &seen[figure.task])).collect();
        let disturbed = self.disturbed * self.disturbed;
        let mut matrix = Vec::with_capacity(self.figures.len());
        for (row, one) in self.figures.iter().enumerate() {
            let columns = self.figures.iter().enumerate().map(|(column, other)| {
                if let (Some(x), Some(y)) = (&influences[row], &influences[column])
                    && one.task == other.task
                {
                    let sum: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
                    return sum / float(x.len() as u64) / self.requests[one.task] + disturbed;
                }
                match one.kind {
                    Kind::Rate(error) | Kind::Flush(error) | Kind::Gain { error, .. }
                        if row == column =>
                    {
                        error * error + disturbed
                    }
                    _ => 0.0,
                }
            });
            matrix.push(columns.collect());
        }
        matrix
    }

    /// Returns true for a quantile, which shows the form of a distribution.
    pub(super) fn is_quantile(figure: &Figure) -> bool {
        matches!(figure.kind, Kind::Quantile(_))
    }

    /// Returns true for a rate at depth or of writes.
    pub(super) fn is_rate(figure: &Figure) -> bool {
        matches!(figure.kind, Kind::Rate(_) | Kind::Gain { .. } | Kind::Flush(_))
    }
}

/// The name of a figure: its key, with the load unless it is the plain one.
fn figure_name(load: &MeasuredLoad, key: &str) -> String {
    let MeasuredLoad { write, span_bytes, iodepth, .. } = *load;
    if (write, span_bytes, iodepth) == (false, None, 1) {
        return key.to_owned();
    }
    let verb = if write { ", writes" } else { "" };
    let within = span_bytes.map(|bytes| format!(", {} GB", bytes / 1_000_000_000));
    format!("{key}{verb}{}, depth {iodepth}", within.unwrap_or_default())
}

/// The influence of each request on the logarithm of a mean or a quantile.
fn influence(figure: &Figure, seen: &Seen) -> Option<Vec<f64>> {
    match figure.kind {
        Kind::Mean => Some(seen.sorted.iter().map(|time| time / seen.mean - 1.0).collect()),
        Kind::Quantile(share) => {
            let width = 0.5 * share.min(1.0 - share).min(0.04);
            // The density at a quantile, from the distance of its neighbours.
            let rise = seen.quantile(share + width) - seen.quantile(share - width);
            let value = seen.quantile(share);
            let slope = (rise / (2.0 * width)).max(1e-6) / value;
            let times = seen.sorted.iter();
            Some(times.map(|time| slope * (share - f64::from(u8::from(*time < value)))).collect())
        }
        Kind::Rate(_) | Kind::Gain { .. } | Kind::Flush(_) => None,
    }
}
