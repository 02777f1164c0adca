//! Families of metrics without any difference.

use drivelab_stats::sign_flip;

use crate::truth::random::Random;

const METRICS: usize = 12;
const BLOCKS: usize = 10;

/// How p values of a family are made from its log ratios, metric by metric.
pub(crate) type Adjust = fn(&[Vec<f64>]) -> Vec<f64>;

/// Log ratios of correlated metrics (0.36).
fn null_rows(random: &mut Random) -> Vec<Vec<f64>> {
    let common: Vec<f64> = (0..BLOCKS).map(|_| random.normal()).collect();
    let mut row = || common.iter().map(|c| 0.6 * c + 0.8 * random.normal()).collect();
    (0..METRICS).map(|_| row()).collect()
}

/// Every metric on its own.
pub(crate) fn unadjusted(rows: &[Vec<f64>]) -> Vec<f64> {
    rows.iter().map(|d| sign_flip::p_value(d, 1)).collect()
}

pub(crate) fn holm(rows: &[Vec<f64>]) -> Vec<f64> {
    drivelab_stats::holm(&unadjusted(rows))
}

pub(crate) fn max_t(rows: &[Vec<f64>]) -> Vec<f64> {
    drivelab_stats::max_t(rows, 1)
}

/// Returns the percentage of families with any p value of at most 5 %.
pub(crate) fn any_false_alarm(families: u32, adjust: Adjust) -> f64 {
    let mut random = Random::new(12);
    let mut alarms = 0_u32;
    for _ in 0..families {
        alarms += u32::from(adjust(&null_rows(&mut random)).iter().any(|p| *p <= 0.05));
    }
    100.0 * f64::from(alarms) / f64::from(families)
}
