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
    /// Why nothing may be concluded although there are figures.
    pub withheld: Option<String>,
}

/// The rates that are divided by the price.
const RATES: [&str; 2] = ["iops", "bytes_per_s"];

/// Every rate of every workload for each dollar; nothing where no arm has a price. `doubt` says why
/// the runs of a workload in some arms may not decide.
pub(crate) fn prices(
    experiment: &Experiment,
    series: &[Series],
    outcomes: &[Outcome],
    doubt: &dyn Fn(usize, &[usize]) -> Option<String>,
) -> Vec<Price> {
    let usd: Vec<Option<f64>> = experiment.arms.iter().map(|arm| arm.price_usd).collect();
    let usd: Vec<Option<f64>> =
        // No rate can be divided by another number.
        usd.into_iter().map(|usd| usd.filter(|usd| usd.is_finite() && *usd > 0.0)).collect();
    if usd.iter().all(Option::is_none) {
        return Vec::new();
    }
    let rates = series.iter().enumerate().filter(|(_, one)| RATES.contains(&one.metric.as_str()));
    rates
        .map(|(index, series)| {
            let arms = usd.iter().enumerate().filter_map(|(arm, usd_of_arm)| {
                let against = outcomes.iter().find(|o| (o.series, o.from, o.to) == (index, 0, arm));
                let priced = Priced { arm, usd: (*usd_of_arm)?, baseline: usd[0], against };
                let withheld = against.and_then(Outcome::withheld).map(|why| why.advice.clone());
                let withheld = withheld.or_else(|| doubt(series.workload, &[arm]));
                Some(ArmPrice { withheld, ..priced.value(series, experiment.seed) })
            });
            let arms = arms.collect();
            Price { series: index, metric: format!("{}_per_usd", series.metric), arms }
        })
        .collect()
}

/// An arm with a price.
struct Priced<'a> {
    arm: usize,
    usd: f64,
    /// The price of the baseline.
    baseline: Option<f64>,
    /// The comparison with the baseline.
    against: Option<&'a Outcome>,
}

impl Priced<'_> {
    fn value(&self, series: &Series, seed: u64) -> ArmPrice {
        debug_assert!(self.usd > 0.0, "an arm without a price has none of these");
        let values = series.values[self.arm].iter();
        let logs: Vec<f64> = values.map(|value| libm::log(value / self.usd)).collect();
        let own = effects(&[logs], ALPHA_DEFAULT, seed)[0];
        let ratio = self.against.zip(self.baseline).map(|(outcome, baseline)| {
            // Prices are exact, so the interval scales with them.
            let (comparison, by) = (&outcome.adjusted.comparison, baseline / self.usd);
            (comparison.ratio * by, comparison.ci95.map(|limits| limits.map(|it| it * by)))
        });
        let (arm, usd) = (self.arm, self.usd);
        ArmPrice { arm, usd, value: own.ratio, ci95: own.ci95, ratio, withheld: None }
    }
}
