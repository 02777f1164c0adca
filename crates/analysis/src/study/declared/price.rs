//! The rate that a dollar buys.

use drivelab_stats::{ALPHA_DEFAULT, effects};

use crate::outcome::{Outcome, Series};
use crate::study::Experiment;

/// A rate for each dollar that the arms cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// The rate, by its index among the series.
    pub series: usize,
    /// `iops_per_usd` or `bytes_per_s_per_usd`.
    pub metric: String,
    /// One entry for each arm with a price.
    pub arms: Vec<ArmPrice>,
}

/// The rate that a dollar spent on one arm buys.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmPrice {
    /// The arm, by index.
    pub arm: usize,
    /// The price in dollars.
    pub usd: f64,
    /// The geometric mean over blocks, for each dollar.
    pub value: f64,
    /// Its own interval.
    pub ci95: Option<[f64; 2]>,
    /// Against the baseline, where that has a price: the ratio, and its own interval.
    pub ratio: Option<(f64, Option<[f64; 2]>)>,
}

/// The rates that are divided by the price.
const RATES: [&str; 2] = ["iops", "bytes_per_s"];

/// Every rate of every workload for each dollar; nothing where no arm has a price.
pub(crate) fn prices(
    experiment: &Experiment,
    series: &[Series],
    outcomes: &[Outcome],
) -> Vec<Price> {
    let usd: Vec<Option<f64>> = experiment.arms.iter().map(|arm| arm.price_usd).collect();
    let priced = |price: &Option<f64>| price.is_some_and(|usd| usd.is_finite() && usd > 0.0);
    if !usd.iter().any(priced) {
        return Vec::new();
    }
    let rates = series.iter().enumerate().filter(|(_, one)| RATES.contains(&one.metric.as_str()));
    rates
        .map(|(index, series)| {
            let arms = usd
                .iter()
                .enumerate()
                .filter_map(|(arm, usd_of_arm)| {
                    let usd_of_arm = usd_of_arm.filter(|usd| priced(&Some(*usd)))?;
                    let logs: Vec<f64> = series.values[arm]
                        .iter()
                        .map(|value| libm::log(value / usd_of_arm))
                        .collect();
                    let own = effects(&[logs], ALPHA_DEFAULT, experiment.seed)[0];
                    let against =
                        outcomes.iter().find(|o| (o.series, o.from, o.to) == (index, 0, arm));
                    let ratio = against.zip(usd[0].filter(|usd| priced(&Some(*usd))));
                    let ratio = ratio.map(|(outcome, baseline)| {
                        let (comparison, by) =
                            (&outcome.adjusted.comparison, baseline / usd_of_arm);
                        (
                            comparison.ratio * by,
                            comparison.ci95.map(|limits| limits.map(|it| it * by)),
                        )
                    });
                    Some(ArmPrice { arm, usd: usd_of_arm, value: own.ratio, ci95: own.ci95, ratio })
                })
                .collect();
            Price { series: index, metric: format!("{}_per_usd", series.metric), arms }
        })
        .collect()
}
