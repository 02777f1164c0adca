//! Generated fleets: disks of several models, of which one may be bad.

use drivelab_stats::{GroupJudgement, OutlierCriteria, OutlierJudge};

use crate::truth::random::Random;

/// How the figures of healthy disks of one model are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Logarithms are normal: what the test assumes.
    Normal,
    /// Student's t with ten degrees of freedom.
    HeavyTails,
    /// Two batches, 6 % apart.
    Batches,
    /// A long tail of slower disks: an exponential part.
    Skewed,
    /// All disks of a host share half of the variance.
    Hosts,
}

impl Spread {
    pub(crate) const ALL: [Self; 5] =
        [Self::Normal, Self::HeavyTails, Self::Batches, Self::Skewed, Self::Hosts];
}

/// Fleets of 1,000 disks of nine models.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fleets {
    pub(crate) spread: Spread,
    /// What the figure of a bad disk is of that of a healthy one; none without one.
    pub(crate) bad: Option<f64>,
    pub(crate) margin: f64,
}

/// In how many of a hundred fleets something is reported.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FleetRates {
    /// Any healthy disk.
    pub(crate) alarms: f64,
    /// The bad disk.
    pub(crate) found: f64,
}

/// Disks of each model.
pub(crate) const GROUPS: [usize; 9] = [400, 200, 150, 100, 60, 40, 25, 15, 10];
/// Deviation of the logarithms of healthy disks of one model.
const DISKS_SD: f64 = 0.03;
/// The same of the runs of one disk.
const RUNS_SD: f64 = 0.02;
const RUNS: usize = 3;
const FALSE_DISCOVERY: f64 = 0.05;

/// The runs of each disk.
type Group = Vec<Vec<f64>>;

impl Fleets {
    /// Judges so many fleets.
    pub(crate) fn measure(&self, fleets: u32, seed: u64) -> FleetRates {
        let mut random = Random::new(seed);
        let criteria = OutlierCriteria { margin: self.margin, false_discovery: FALSE_DISCOVERY };
        let mut judge = OutlierJudge::new(criteria);
        let mut rates = FleetRates::default();
        let each = 100.0 / f64::from(fleets);
        for _ in 0..fleets {
            let (groups, bad) = self.draw(&mut random);
            let groups: Vec<&[Vec<f64>]> = groups.iter().map(Vec::as_slice).collect();
            let judged = judge.judge(&groups);
            let reported: Vec<(usize, usize)> = judged
                .iter()
                .enumerate()
                .flat_map(|(group, judged)| match judged {
                    GroupJudgement::Judged(it) => {
                        it.outliers.iter().map(|disk| (group, disk.index)).collect()
                    }
                    _ => Vec::new(),
                })
                .collect();
            let is_bad = |disk: &(usize, usize)| Some(*disk) == bad;
            rates.found += if reported.iter().any(is_bad) { each } else { 0.0 };
            rates.alarms += if reported.iter().all(is_bad) { 0.0 } else { each };
        }
        rates
    }

    /// The runs of each disk of each group, and which disk is bad.
    fn draw(&self, random: &mut Random) -> (Vec<Group>, Option<(usize, usize)>) {
        let mut groups: Vec<Group> = Vec::new();
        for (number, size) in GROUPS.into_iter().enumerate() {
            let level = 80.0 + f64::from(u32::try_from(number).expect("nine")) * 25.0;
            let disks = self.deviates(size, random).into_iter().map(|deviate| {
                let run = |random: &mut Random| {
                    level * libm::exp(DISKS_SD * deviate + RUNS_SD * random.normal())
                };
                (0..RUNS).map(|_| run(random)).collect()
            });
            groups.push(disks.collect());
        }
        let Some(ratio) = self.bad else { return (groups, None) };
        let mut place = random.below(GROUPS.iter().sum());
        let mut group = 0;
        while place >= GROUPS[group] {
            place -= GROUPS[group];
            group += 1;
        }
        groups[group][place].iter_mut().for_each(|run| *run *= ratio);
        (groups, Some((group, place)))
    }

    /// Standard deviates of the disks of one group.
    fn deviates(&self, size: usize, random: &mut Random) -> Vec<f64> {
        const ON_A_HOST: usize = 12;
        let half = 0.5_f64.sqrt();
        let mut host = 0.0;
        let mut one = |place: usize| match self.spread {
            Spread::Normal => random.normal(),
            Spread::HeavyTails => {
                let squares: f64 = (0..10).map(|_| random.normal().powi(2)).sum();
                // Of variance 1: that of t with ten degrees of freedom is 10 / 8.
                0.8_f64.sqrt() * random.normal() / (squares / 10.0).sqrt()
            }
            Spread::Batches => random.normal() + if random.chance(0.5) { 1.0 } else { -1.0 },
            Spread::Skewed => half * random.normal() + half * (1.0 + libm::log(random.uniform())),
            Spread::Hosts => {
                if place.is_multiple_of(ON_A_HOST) {
                    host = random.normal();
                }
                half * host + half * random.normal()
            }
        };
        (0..size).map(&mut one).collect()
    }
}
