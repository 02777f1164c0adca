//! Figures of one kind of request, as fio reports them.

use drivelab_core::histogram::Histogram;
use drivelab_core::record::{Latency, OpRecord, OpTally};
use drivelab_core::units::{Ratio, Span};

/// The percentiles that fio reports unless others are requested.
const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

/// The percentiles that were requested.
pub(super) fn asked(percentiles: &[f64]) -> Vec<f64> {
    if percentiles.is_empty() { PERCENTILES.to_vec() } else { percentiles.to_vec() }
}

/// One kind of request.
#[derive(Debug, Clone, Default)]
pub struct Kind {
    /// Requests completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// The measured time in milliseconds, at least 1; 0 if there was no request.
    pub runtime_ms: u64,
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: u64,
    /// From issue to completion.
    pub clat: Times,
    /// From the time at which it was due to completion.
    pub lat: Times,
}

/// A distribution of times in nanoseconds.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Times {
    pub n: u64,
    pub min: u64,
    pub max: u64,
    pub mean: u64,
    /// Absent where only percentiles are known.
    pub stddev: Option<f64>,
    pub percentiles: Vec<(f64, u64)>,
    /// Upper ends of buckets, and what they count.
    pub bins: Vec<(u64, u64)>,
}

impl Kind {
    pub(super) fn of(tally: &OpTally, elapsed: Span, percentiles: &[f64]) -> Self {
        let clat = Times::of(&tally.service, percentiles);
        let lat = Times::of(&tally.lat, percentiles);
        Self {
            ios: tally.ios,
            bytes: tally.bytes,
            runtime_ms: if tally.ios > 0 { milliseconds(elapsed) } else { 0 },
            iops: per_s(tally.ios, elapsed),
            bytes_per_s: whole(per_s(tally.bytes, elapsed)),
            clat,
            lat,
        }
    }

    pub(super) fn of_record(kind: &OpRecord, elapsed_ns: u64, lat: Option<&Histogram>) -> Self {
        let elapsed = Span::from_ns(elapsed_ns);
        let lat = match lat {
            Some(all) => Times::of(all, &PERCENTILES),
            None => Times::quoted(&kind.lat_ns),
        };
        Self {
            ios: kind.ios,
            bytes: whole(kind.bytes_per_s * ratio(elapsed_ns, 1_000_000_000)),
            runtime_ms: if kind.ios > 0 { milliseconds(elapsed) } else { 0 },
            iops: kind.iops,
            bytes_per_s: whole(kind.bytes_per_s),
            clat: Times::quoted(&kind.service_ns),
            lat,
        }
    }
}

impl Times {
    fn of(histogram: &Histogram, percentiles: &[f64]) -> Self {
        let mean = ns(histogram.mean());
        let asked = if histogram.n() == 0 { &[] } else { percentiles };
        let bins: Vec<_> = histogram.buckets().map(|(end, count)| (end.ns(), count)).collect();
        Self {
            n: histogram.n(),
            min: ns(histogram.min()),
            max: ns(histogram.max()),
            mean,
            stddev: Some(deviation(&bins, mean, histogram.n())),
            percentiles: asked
                .iter()
                .map(|percent| (*percent, quantile(histogram, *percent)))
                .collect(),
            bins,
        }
    }

    /// The percentiles that a record quotes.
    fn quoted(latency: &Latency) -> Self {
        let Latency { min, mean, p50, p90, p99, p99_9, p99_99, max, n } = *latency;
        let percentiles =
            vec![(50.0, p50), (90.0, p90), (99.0, p99), (99.9, p99_9), (99.99, p99_99)];
        let percentiles = if n == 0 { Vec::new() } else { percentiles };
        Self { n, min, max, mean, stddev: None, percentiles, bins: Vec::new() }
    }
}

fn ns(span: Option<Span>) -> u64 {
    span.map_or(0, Span::ns)
}

fn quantile(histogram: &Histogram, percent: f64) -> u64 {
    debug_assert!((0.0..=100.0).contains(&percent), "a percentile");
    ns(histogram.quantile(Ratio::from_billionths(whole(percent * 1e7))))
}

/// The standard deviation: each bucket counts at its end, at most 1/128 too high.
#[expect(clippy::cast_precision_loss, reason = "a figure for people and statistics")]
fn deviation(bins: &[(u64, u64)], mean: u64, n: u64) -> f64 {
    debug_assert_eq!(bins.iter().map(|bin| bin.1).sum::<u64>(), n, "each time is in a bucket");
    if n < 2 {
        return 0.0;
    }
    let squares = bins.iter().map(|(ns, count)| {
        let apart = ns.abs_diff(mean) as f64;
        apart * apart * *count as f64
    });
    libm::sqrt(squares.sum::<f64>() / (n - 1) as f64)
}

/// Mean and standard deviation of figures of whole seconds, and their extremes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Samples {
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) mean: f64,
    pub(super) stddev: f64,
    pub(super) n: u64,
}

impl Samples {
    #[expect(clippy::cast_precision_loss, reason = "a figure for people and statistics")]
    pub(super) fn of(figures: impl Iterator<Item = u64> + Clone) -> Self {
        let n = figures.clone().count() as u64;
        if n == 0 {
            return Self::default();
        }
        let mean = figures.clone().map(|figure| figure as f64).sum::<f64>() / n as f64;
        let squares = figures.clone().map(|figure| (figure as f64 - mean) * (figure as f64 - mean));
        let stddev = if n > 1 { libm::sqrt(squares.sum::<f64>() / (n - 1) as f64) } else { 0.0 };
        let (min, max) = (figures.clone().min(), figures.max());
        Self { min: min.unwrap_or(0), max: max.unwrap_or(0), mean, stddev, n }
    }
}

/// At least 1, as in fio: rates are divided by it.
pub(super) fn milliseconds(span: Span) -> u64 {
    (span.ns() / 1_000_000).max(1)
}

#[expect(clippy::cast_precision_loss, reason = "a figure for people and statistics")]
fn per_s(count: u64, elapsed: Span) -> f64 {
    if elapsed.is_zero() { 0.0 } else { count as f64 * 1e9 / elapsed.ns() as f64 }
}

/// 0 where nothing is divided.
#[expect(clippy::cast_precision_loss, reason = "a figure for people and statistics")]
pub(super) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
pub(super) fn whole(figure: f64) -> u64 {
    libm::round(figure).max(0.0) as u64
}

/// The sum of a time per request.
#[expect(clippy::cast_precision_loss, reason = "a figure for people and statistics")]
pub(super) fn whole_ns(per_io: f64, ios: u64) -> Span {
    Span::from_ns(whole(per_io * ios as f64))
}
