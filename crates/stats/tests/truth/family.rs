//! Families of metrics without any difference.

use drivelab_stats::{Adjusted, Member, Pair, Role, Verdict, compare_family, sign_flip};

use crate::truth::experiment::criteria;
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

/// Many metrics of one experiment, each with the same true effect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Metrics {
    pub(crate) count: usize,
    pub(crate) blocks: usize,
    /// True log ratio of every metric.
    pub(crate) truth: f64,
    /// Correlation between any two of them.
    pub(crate) correlation: f64,
    /// Deviation of a log ratio.
    pub(crate) sd: f64,
    /// Blocks that the second half of the metrics has more than the first: then no flip is shared.
    pub(crate) more_blocks: usize,
}

/// In how many of a hundred families something is wrong.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FamilyRates {
    /// Any "faster" where the effect is at most the margin.
    pub(crate) faster: f64,
    /// Any "no practical difference" where the effect is at least the margin.
    pub(crate) equivalent: f64,
    /// Any difference claimed.
    pub(crate) difference: f64,
    /// Any interval of the family that misses the truth.
    pub(crate) missed: f64,
    /// Metrics called faster, whatever the truth.
    pub(crate) found: f64,
}

impl Metrics {
    fn members(&self, random: &mut Random) -> Vec<Member> {
        let (shared, own) = (self.correlation.sqrt(), (1.0 - self.correlation).sqrt());
        let longest = self.blocks + self.more_blocks;
        let common: Vec<f64> = (0..longest).map(|_| random.normal()).collect();
        let member = |place: usize| {
            let blocks = if 2 * place < self.count { self.blocks } else { longest };
            let pair = |block: usize, random: &mut Random| {
                let noise = shared * common[block] + own * random.normal();
                Pair::new(100.0, 100.0 * libm::exp(self.truth + self.sd * noise))
            };
            let pairs = (0..blocks).map(|block| pair(block, random)).collect();
            Member { role: Role::Other, pairs, criteria: criteria() }
        };
        (0..self.count).map(member).collect()
    }

    /// Judges so many families.
    pub(crate) fn measure(&self, families: u32, seed: u64) -> FamilyRates {
        let mut random = Random::new(seed);
        let mut rates = FamilyRates::default();
        let each = 100.0 / f64::from(families);
        for _ in 0..families {
            let family = compare_family(&self.members(&mut random)).expect("positive values");
            let any = |wrong: &dyn Fn(&Adjusted) -> bool| {
                if family.members.iter().any(wrong) { each } else { 0.0 }
            };
            let is = |verdicts: &'static [Verdict]| {
                move |it: &Adjusted| verdicts.contains(&it.comparison.verdict)
            };
            rates.faster += any(&is(&[Verdict::Faster]));
            rates.equivalent += any(&is(&[Verdict::NoPracticalDifference]));
            let difference = is(&[Verdict::Faster, Verdict::Slower, Verdict::Different]);
            rates.difference += any(&difference);
            let ratio = libm::exp(self.truth);
            let misses = |it: &Adjusted| {
                let [lo, hi] = it.ci95_family.expect("six blocks or more");
                !(lo..=hi).contains(&ratio)
            };
            rates.missed += any(&misses);
            let found = family.members.iter().filter(|it| is(&[Verdict::Faster])(it)).count();
            let found = f64::from(u32::try_from(found).expect("hundreds"));
            rates.found += each * found / f64::from(u32::try_from(self.count).expect("hundreds"));
        }
        rates
    }
}
