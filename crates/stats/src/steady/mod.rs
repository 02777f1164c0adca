//! The steady state of a run, and the end of its warm-up.

mod drift;
mod mser;
mod snia;
mod trend;

use serde::{Deserialize, Serialize};

use crate::numbers::mean;

/// Values per batch, the "5" of MSER-5.
const BATCH: usize = 5;
/// Batches wanted at least; a short series gets smaller batches.
const BATCHES_MIN: usize = 20;
/// Batches at most: the trend test takes their square in time.
const BATCHES_MAX: usize = 400;
/// Level of the trend test: 10 %, so that drift is found rather than overlooked.
const TREND_LEVEL: f64 = 0.10;
/// Drift allowed, as a fraction of the margin.
const DRIFT_SHARE: f64 = 0.25;
/// A drift of more than this many standard errors is not noise (two-sided 10 %).
const DRIFT_ERRORS: f64 = 1.645;

/// The three possible answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SteadyState {
    /// No trend, and the mean is close to the level that the run approaches.
    Steady,
    /// The run is still changing.
    Unsteady,
    /// Too short or too noisy for an answer; longer runs are needed.
    Unknown,
}

/// The reason why a run is not called steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SteadyReason {
    /// Fewer than 20 values.
    TooShort,
    /// A value is not finite, or the values are not above zero.
    NotMeasurable,
    /// The warm-up takes more than half of the run.
    WarmupTooLong,
    /// The values rise or fall (Mann-Kendall, 10 %).
    Trend,
    /// The fitted drift is above a quarter of the margin.
    Drift,
    /// A drift that large could be there, but noise hides it.
    Noise,
}

impl SteadyReason {
    /// Returns the finding, and the advice on it.
    pub fn advice(self) -> &'static str {
        match self {
            Self::TooShort => "fewer than 20 values: run longer or sample more often",
            Self::NotMeasurable => "the values are not finite and above zero: the run failed",
            Self::WarmupTooLong => {
                "more than half of the run is warm-up: precondition the drive or run longer"
            }
            Self::Trend => "the values still rise or fall: precondition the drive or run longer",
            Self::Drift => "the run has not reached its final level: precondition or run longer",
            Self::Noise => {
                "the values vary too much to exclude drift: run longer (four times for half the \
                 noise)"
            }
        }
    }
}

/// The steadiness of a series of values within one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// The answer.
    pub state: SteadyState,
    /// The reasons why not; empty if steady.
    pub reasons: Vec<SteadyReason>,
    /// Values at the start to leave out.
    pub warmup: usize,
    /// Mean of the values after the warm-up.
    pub mean: Option<f64>,
    /// Two-sided p value of the trend test.
    pub trend_p: Option<f64>,
    /// Distance of the mean from the level that the run approaches, as a fraction.
    pub drift: Option<f64>,
    /// Standard error of `drift`.
    pub drift_error: Option<f64>,
    /// The rule of the SNIA test specification is met: a label for comparison, not our answer.
    pub snia: bool,
}

/// Judges the values of one run (throughput per second, say) at equal distances in time.
///
/// `margin` is a fraction. Drops the warm-up by MSER-5, then requires no trend and a drift below
/// `margin` / 4.
pub fn steady_state(series: &[f64], margin: f64) -> Steadiness {
    if series.len() < BATCHES_MIN {
        return unjudged(SteadyReason::TooShort);
    }
    // Written so that a NaN is caught.
    if !series.iter().all(|v| v.is_finite() && *v >= 0.0) || series.iter().all(|v| *v <= 0.0) {
        return unjudged(SteadyReason::NotMeasurable);
    }
    // Batch means are less correlated than single values, and cheaper to test.
    let size = batch_size(series.len());
    let batches = mser::batch_means(series, size);
    let dropped = mser::truncation(&batches);
    // Past the middle the rule has found no calm stretch; then the second half stands for the run.
    let too_long = dropped > batches.len() / 2;
    let dropped = dropped.min(batches.len() / 2);
    let kept = &batches[dropped..];
    let trend_p = trend::mann_kendall(kept);
    let drift = drift::fit(kept);
    let reasons = reasons_against(too_long, trend_p, drift, DRIFT_SHARE * margin);
    Steadiness {
        state: state(&reasons),
        reasons,
        warmup: dropped * size,
        // Of the single values, as batches leave out a remainder at the end.
        mean: Some(mean(&series[dropped * size..])),
        trend_p: Some(trend_p),
        drift: drift.map(|d| d.relative),
        drift_error: drift.map(|d| d.error),
        // The rule judges five rounds, so the kept part is cut into five.
        snia: snia::is_steady(&mser::batch_means(kept, kept.len() / 5)),
    }
}

fn unjudged(reason: SteadyReason) -> Steadiness {
    Steadiness {
        state: state(&[reason]),
        reasons: vec![reason],
        warmup: 0,
        mean: None,
        trend_p: None,
        drift: None,
        drift_error: None,
        snia: false,
    }
}

fn batch_size(n: usize) -> usize {
    BATCH.min(n / BATCHES_MIN).max(n.div_ceil(BATCHES_MAX))
}

fn reasons_against(
    too_long: bool,
    trend_p: f64,
    drift: Option<drift::Drift>,
    limit: f64,
) -> Vec<SteadyReason> {
    let drift = match drift {
        Some(d) if d.relative.abs() < limit => None,
        Some(d) if d.relative.abs() <= DRIFT_ERRORS * d.error => Some(SteadyReason::Noise),
        // No positive level to approach: the values are falling to nothing.
        Some(_) | None => Some(SteadyReason::Drift),
    };
    let warmup = too_long.then_some(SteadyReason::WarmupTooLong);
    let trend = (trend_p < TREND_LEVEL).then_some(SteadyReason::Trend);
    [warmup, trend, drift].into_iter().flatten().collect()
}

fn state(reasons: &[SteadyReason]) -> SteadyState {
    // In these two cases a longer run may still turn out steady.
    let open = [SteadyReason::TooShort, SteadyReason::Noise];
    match reasons {
        [] => SteadyState::Steady,
        _ if reasons.iter().all(|r| open.contains(r)) => SteadyState::Unknown,
        _ => SteadyState::Unsteady,
    }
}
