//! Simulated drives of known truth: what an interval for one more drive must contain.

use drivelab_stats::distribution::normal;
use drivelab_stats::{Better, Criteria, Forecast, Pair, Provenance, Unknown, foresee};

use super::random::Random;

/// How the unknowns of a drive are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prior {
    /// Three numbers, each with a normal effect of its own.
    Normal,
    /// Drives fall into two kinds, each with a scatter; and one normal number.
    Mixture,
    /// A feature that half of the drives have, and one normal number.
    TwoValued,
    /// A feature that one drive in ten has, and one normal number.
    Rare,
    /// Nothing is unknown: drives differ in addresses only.
    Known,
}

impl Prior {
    pub(crate) const ALL: [Self; 5] =
        [Self::Normal, Self::Mixture, Self::TwoValued, Self::Rare, Self::Known];

    fn unknowns(self) -> usize {
        match self {
            Self::Normal => 3,
            Self::Mixture | Self::TwoValued | Self::Rare => 2,
            Self::Known => 0,
        }
    }

    /// The value of unknown number `at` where it has this quantile.
    fn value(self, at: usize, quantile: f64) -> f64 {
        let two = |first: f64| f64::from(u8::from(quantile >= first));
        match (self, at) {
            (Self::TwoValued, 0) => two(0.5),
            (Self::Rare, 0) => two(0.9),
            // Four tenths around 0, six tenths around 1, each with a deviation of a tenth.
            (Self::Mixture, 0) if quantile < 0.4 => 0.1 * normal::quantile(quantile / 0.4),
            (Self::Mixture, 0) => 1.0 + 0.1 * normal::quantile((quantile - 0.4) / 0.6),
            _ => normal::quantile(quantile),
        }
    }

    /// What each unknown adds to the log ratio, per unit of its value.
    fn effects(self) -> &'static [f64] {
        match self {
            Self::Normal => &[0.08, 0.04, 0.02],
            Self::Mixture => &[0.15, 0.03],
            Self::TwoValued | Self::Rare => &[0.20, 0.05],
            Self::Known => &[],
        }
    }
}

/// How specimens are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawing {
    /// Each by itself.
    Independent,
    /// A Latin hypercube: each unknown once in each of as many strata.
    Stratified,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Drives {
    pub(crate) prior: Prior,
    pub(crate) drawing: Drawing,
    pub(crate) specimens: usize,
    /// Deviation of the log ratio by addresses.
    pub(crate) addresses: f64,
    pub(crate) model_sigma: f64,
}

/// The mean log ratio, away from zero: what the model leaves out is then at its full size.
const CENTRE: f64 = 0.3;

impl Drives {
    /// What is predicted from one sample.
    pub(crate) fn forecast(&self, random: &mut Random) -> Forecast {
        let columns: Vec<Vec<f64>> =
            (0..self.prior.unknowns()).map(|_| self.quantiles(random)).collect();
        let specimen = |row: usize| columns.iter().map(|column| column[row]).collect::<Vec<f64>>();
        let pairs: Vec<Pair> = (0..self.specimens)
            .map(|row| Pair::new(1.0, libm::exp(self.log_ratio(&specimen(row), random))))
            .collect();
        let unknowns = columns.iter().enumerate().map(|(at, column)| Unknown {
            values: column.iter().map(|q| self.prior.value(at, *q)).collect(),
            scores: column.iter().map(|q| normal::quantile(*q)).collect(),
        });
        let unknowns: Vec<Unknown> = unknowns.collect();
        foresee(&pairs, &unknowns, self.model_sigma, &criteria()).expect("there are specimens")
    }

    /// The log ratio of one more real drive.
    pub(crate) fn next(&self, random: &mut Random) -> f64 {
        let quantiles: Vec<f64> =
            (0..self.prior.unknowns()).map(|_| open(random.uniform())).collect();
        self.log_ratio(&quantiles, random) + self.model_sigma * random.normal()
    }

    /// In percent: how many of the next drives lie in their interval.
    pub(crate) fn coverage(&self, experiments: u32, seed: u64) -> f64 {
        let mut random = Random::new(seed);
        let mut covered = 0_u32;
        for _ in 0..experiments {
            let [lo, hi] = self.forecast(&mut random).prediction95.map(libm::log);
            for _ in 0..NEXT {
                let next = self.next(&mut random);
                covered += u32::from(lo <= next && next <= hi);
            }
        }
        100.0 * f64::from(covered) / f64::from(experiments * NEXT)
    }

    /// The true share of the variance that unknown number 0 has.
    pub(crate) fn share(&self) -> f64 {
        const STEPS: u32 = 10_000;
        let variance = |at: usize, effect: f64| {
            let values = (0..STEPS).map(|step| {
                effect * self.prior.value(at, (f64::from(step) + 0.5) / f64::from(STEPS))
            });
            let mean = values.clone().sum::<f64>() / f64::from(STEPS);
            values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / f64::from(STEPS)
        };
        let effects = self.prior.effects().iter().enumerate();
        let each: Vec<f64> = effects.map(|(at, effect)| variance(at, *effect)).collect();
        let rest = self.addresses * self.addresses + self.model_sigma * self.model_sigma;
        each[0] / (each.iter().sum::<f64>() + rest)
    }

    fn log_ratio(&self, quantiles: &[f64], random: &mut Random) -> f64 {
        let effects = self.prior.effects().iter().zip(quantiles).enumerate();
        let effect = effects.map(|(at, (effect, q))| effect * self.prior.value(at, *q));
        CENTRE + effect.sum::<f64>() + self.addresses * random.normal()
    }

    fn quantiles(&self, random: &mut Random) -> Vec<f64> {
        let count = u32::try_from(self.specimens).expect("a few");
        let mut strata: Vec<u32> = (0..count).collect();
        random.shuffle(&mut strata);
        let one = |stratum: u32| match self.drawing {
            Drawing::Independent => open(random.uniform()),
            Drawing::Stratified => open((f64::from(stratum) + random.uniform()) / f64::from(count)),
        };
        strata.into_iter().map(one).collect()
    }
}

/// Drives that are held against each interval.
const NEXT: u32 = 20;

/// Inside of 0 to 1, where a normal distribution has its quantiles.
fn open(uniform: f64) -> f64 {
    uniform.clamp(1e-12, 1.0 - 1e-12)
}

pub(crate) fn criteria() -> Criteria {
    let criteria = Criteria::new(0.03, Better::More, 1).expect("in range");
    criteria.with_provenance(Provenance::Simulated)
}
