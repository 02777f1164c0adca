//! What a fit has to meet: measured figures with their errors.

use drivelab_core::measurements::{MEAN_MS, MeasuredLoad, Measurements, QUANTILES};

use crate::fit::doubt;
use crate::fit::simulate::{Seen, Task, float};

/// A figure, as a logarithm.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    /// What it is called for people: the key, and the load where it is not the plain one.
    pub(super) name: String,
    what: What,
    task: usize,
    /// The logarithm of what was measured.
    pub(super) measured: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    /// The mean time of one request at a time.
    Mean,
    /// A quantile of the same.
    Quantile(f64),
    /// A rate, with its standard error.
    Rate(f64),
    /// A rate over that of another task.
    Gain { over: usize, error: f64 },
    /// The mean time of a flush.
    Flush(f64),
}

/// Everything that was measured and can be fitted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Wanted {
    pub(super) tasks: Vec<Task>,
    pub(super) figures: Vec<Figure>,
    /// Requests behind the times of each task.
    requests: Vec<f64>,
    /// The further error of all figures of a task together, where something disturbed them.
    disturbed: f64,
}

/// Requests of a file that does not say: a minute of a disk.
const REQUESTS: f64 = 3000.0;

/// The error of a rate of a file that does not say.
const RATE_ERROR: f64 = 0.01;

/// Quantiles that one read in a hundred decides: retries and hits in a cache, which are fitted
/// apart (`extremes`), and no unknown of the mechanics.
const EXTREMES: [&str; 3] = ["p1_ms", "p99_5_ms", "p99_9_ms"];

impl Wanted {
    pub(super) fn new(measured: &Measurements) -> Self {
        let mut wanted = Self { disturbed: doubt::error(&measured.marks), ..Self::default() };
        for load in &measured.loads {
            wanted.add(load);
        }
        for flush in &measured.flushes {
            let task = wanted.task(Task::Flush { writes: u64::from(flush.writes) }, 1.0);
            let error = flush.mean_error.unwrap_or(RATE_ERROR).max(0.002);
            let name = format!("flush after {} writes, ms", flush.writes);
            wanted.figure(name, What::Flush(error), task, flush.mean_ms);
        }
        wanted
    }

    fn add(&mut self, load: &MeasuredLoad) {
        let MeasuredLoad { write, span_bytes, iodepth, block_bytes, ref figures, .. } = *load;
        let (span, sectors) = (span_bytes.map(|bytes| bytes / 512), (block_bytes / 512).max(1));
        let random = |depth| Task::Random { write, span, depth, sectors };
        let requests = load.requests.map_or(REQUESTS, float);
        let named = |key: &str| {
            if (write, span_bytes, iodepth) == (false, None, 1) {
                return key.to_owned();
            }
            let verb = if write { ", writes" } else { "" };
            let within = span_bytes.map(|bytes| format!(", {} GB", bytes / 1_000_000_000));
            format!("{key}{verb}{}, depth {iodepth}", within.unwrap_or_default())
        };
        let error = load.rate_error.unwrap_or(RATE_ERROR).max(0.002);
        if write || iodepth > 1 {
            let rate = load.iops();
            if let Some(rate) = rate {
                let task = self.task(random(u64::from(iodepth)), requests);
                self.figure(named("iops"), What::Rate(error), task, rate);
            } else if let Some(gain) = figures.get("gain") {
                let over = self.task(random(1), requests);
                let task = self.task(random(u64::from(iodepth)), requests);
                self.figure(named("gain"), What::Gain { over, error }, task, gain);
            }
            return;
        }
        let key = if figures.get(MEAN_MS).is_some() { MEAN_MS } else { "iops" };
        if let Some(rate) = load.iops() {
            let task = self.task(random(1), requests);
            self.figure(named(key), What::Mean, task, figures.get(MEAN_MS).unwrap_or(1e3 / rate));
        }
        for (key, share) in QUANTILES {
            let Some(value) = figures.get(key).filter(|_| !EXTREMES.contains(&key)) else {
                continue;
            };
            let task = self.task(random(1), requests);
            self.figure(named(key), What::Quantile(share), task, value);
        }
    }

    fn task(&mut self, task: Task, requests: f64) -> usize {
        let known = self.tasks.iter().position(|known| *known == task);
        known.unwrap_or_else(|| {
            self.tasks.push(task);
            self.requests.push(requests);
            self.tasks.len() - 1
        })
    }

    fn figure(&mut self, name: String, what: What, task: usize, value: f64) {
        self.figures.push(Figure { name, what, task, measured: libm::log(value) });
    }

    /// The logarithms of all figures of a simulation of the tasks.
    pub(super) fn of(&self, seen: &[Seen]) -> Vec<f64> {
        let value = |figure: &Figure| {
            let it = &seen[figure.task];
            libm::log(match figure.what {
                What::Mean | What::Flush(_) => it.mean.max(1e-6),
                What::Quantile(share) => it.quantile(share).max(1e-6),
                What::Rate(_) => it.per_s,
                What::Gain { over, .. } => it.per_s / seen[over].per_s,
            })
        };
        self.figures.iter().map(value).collect()
    }

    /// The figure in its unit: rates for a mean that was given as such.
    pub(super) fn shown(figure: &Figure, log: f64) -> f64 {
        let value = libm::exp(log);
        if figure.what == What::Mean && figure.name.starts_with("iops") {
            return 1e3 / value;
        }
        value
    }

    /// The covariance of the errors of measurement, with times scattered as in `seen`.
    ///
    /// A mean and the quantiles beside it come from one sample, and are off together: each is, to
    /// first order, the mean of an influence over the sample (Hampel 1974, "The influence curve and
    /// its role in robust estimation").
    pub(super) fn covariance(&self, seen: &[Seen]) -> Vec<Vec<f64>> {
        let influences: Vec<Option<Vec<f64>>> =
            self.figures.iter().map(|figure| influence(figure, &seen[figure.task])).collect();
        let disturbed = self.disturbed * self.disturbed;
        let entry = |(left, right): (usize, usize)| {
            let (one, other) = (&self.figures[left], &self.figures[right]);
            if let (Some(x), Some(y)) = (&influences[left], &influences[right])
                && one.task == other.task
            {
                let sum: f64 = x.iter().zip(y).map(|(x, y)| x * y).sum();
                return sum / float(x.len() as u64) / self.requests[one.task] + disturbed;
            }
            match one.what {
                What::Rate(error) | What::Flush(error) | What::Gain { error, .. }
                    if left == right =>
                {
                    error * error + disturbed
                }
                _ => 0.0,
            }
        };
        let all = self.figures.len();
        (0..all).map(|row| (0..all).map(|column| entry((row, column))).collect()).collect()
    }

    /// Whether the figure shows the form of a distribution, and not a rate.
    pub(super) fn is_quantile(figure: &Figure) -> bool {
        matches!(figure.what, What::Quantile(_))
    }

    /// Whether the figure is a rate at depth, or of writes.
    pub(super) fn is_rate(figure: &Figure) -> bool {
        matches!(figure.what, What::Rate(_) | What::Gain { .. } | What::Flush(_))
    }
}

/// The influence of each request on the logarithm of a mean or a quantile.
fn influence(figure: &Figure, seen: &Seen) -> Option<Vec<f64>> {
    match figure.what {
        What::Mean => Some(seen.sorted.iter().map(|time| time / seen.mean - 1.0).collect()),
        What::Quantile(share) => {
            let width = 0.5 * share.min(1.0 - share).min(0.04);
            let rise = seen.quantile(share + width) - seen.quantile(share - width);
            let value = seen.quantile(share);
            let slope = (rise / (2.0 * width)).max(1e-6) / value;
            let below = |time: &f64| share - f64::from(u8::from(*time < value));
            Some(seen.sorted.iter().map(|time| slope * below(time)).collect())
        }
        What::Rate(_) | What::Gain { .. } | What::Flush(_) => None,
    }
}
