//! Centre and spread of the peers of each disk in a group, in one pass over the sorted figures.

use super::judgement::{GroupJudgement, PEER_GROUP_MIN, PeerGroup};
use crate::numbers::float;

/// One in this many peers at each end counts no more than its neighbours. Trimming more would cost
/// small groups power: with a fifth, twenty peers find a fifth less.
const TRIMMED: usize = 10;

/// Centre and spread of some figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peers {
    /// Trimmed mean.
    pub(super) centre: f64,
    /// Winsorised deviation.
    pub(super) deviation: f64,
}

/// The number of `count` values that are trimmed at each end.
pub(super) fn trimmed(count: usize) -> usize {
    count / TRIMMED
}

/// A group in ascending order.
#[derive(Debug)]
pub(super) struct Sorted {
    /// Runs of each disk that count.
    pub(super) runs: usize,
    /// The mean logarithm of those, disk by disk.
    pub(super) figures: Vec<f64>,
    /// For each disk its rank.
    ranks: Vec<usize>,
    ordered: Ordered,
}

/// Ascending values with the sums of those before each index.
#[derive(Debug)]
struct Ordered {
    values: Vec<f64>,
    sums: Vec<f64>,
    squares: Vec<f64>,
    /// Subtracted from all values, so that squares keep their digits.
    origin: f64,
}

impl Sorted {
    /// The figures of a group in order, or the reason why it cannot be judged.
    pub(super) fn of(group: &PeerGroup) -> Result<Self, GroupJudgement> {
        let runs = group.iter().map(Vec::len).min().unwrap_or(0);
        if group.len() < PEER_GROUP_MIN || runs == 0 {
            return Err(GroupJudgement::TooSmall);
        }
        let mut figures = Vec::with_capacity(group.len());
        for all in group {
            // As many runs of each disk, so that the figures of all scatter alike.
            let latest = &all[all.len() - runs..];
            figures.push(latest.iter().map(|value| libm::log(*value)).sum::<f64>() / float(runs));
        }
        let mut order: Vec<usize> = (0..figures.len()).collect();
        order.sort_by(|a, b| figures[*a].total_cmp(&figures[*b]));
        let mut ranks = vec![0; figures.len()];
        for (rank, disk) in order.iter().enumerate() {
            ranks[*disk] = rank;
        }
        let ordered = Ordered::new(order.iter().map(|disk| figures[*disk]).collect());
        let sorted = Self { runs, figures, ranks, ordered };
        // Below the rounding of a logarithm there is no spread.
        if sorted.whole().deviation > 1e-12 {
            return Ok(sorted);
        }
        Err(GroupJudgement::NoVariation)
    }

    /// Centre and spread of all disks but one.
    pub(super) fn peers_of(&self, disk: usize) -> Peers {
        self.ordered.peers(Some(self.ranks[disk]))
    }

    /// Centre and spread of all disks.
    pub(super) fn whole(&self) -> Peers {
        self.ordered.peers(None)
    }
}

impl Peers {
    /// Of values in any order.
    pub(super) fn of(mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        Ordered::new(values).peers(None)
    }
}

impl Ordered {
    fn new(mut values: Vec<f64>) -> Self {
        let origin = values[values.len() / 2];
        for value in &mut values {
            *value -= origin;
        }
        let sums = running(&values, |value| value);
        let squares = running(&values, |value| value * value);
        Self { values, sums, squares, origin }
    }

    /// Trimmed mean and Winsorised deviation of the values without the one of rank `left_out`.
    fn peers(&self, left_out: Option<usize>) -> Peers {
        let left_out = left_out.unwrap_or(self.values.len());
        let count = self.values.len() - usize::from(left_out < self.values.len());
        let cut = trimmed(count);
        // Indexes among all values: those behind the disk left out move up by one.
        let [first, last] = [cut, count - 1 - cut].map(|peer| peer + usize::from(peer >= left_out));
        debug_assert!(first <= last, "half of the peers or more would be trimmed");
        let (mut sum, mut squares) =
            (self.sums[last + 1] - self.sums[first], self.squares[last + 1] - self.squares[first]);
        if first < left_out && left_out < last {
            let own = self.values[left_out];
            sum -= own;
            squares -= own * own;
        }
        let (low, high, ends) = (self.values[first], self.values[last], float(cut));
        let all = float(count);
        let mean = (sum + ends * (low + high)) / all;
        // Winsorised: the trimmed values count as their nearest neighbours that remain.
        let variance = (squares + ends * (low * low + high * high)) / all - mean * mean;
        Peers {
            centre: self.origin + sum / float(count - 2 * cut),
            // Rounding may take a variance of 0 below it.
            deviation: libm::sqrt((variance * all / float(count - 1)).max(0.0)),
        }
    }
}

/// The sums of `term` over the values before each index, and over all.
fn running(values: &[f64], term: fn(f64) -> f64) -> Vec<f64> {
    let mut sums = Vec::with_capacity(values.len() + 1);
    let mut sum = 0.0;
    sums.push(sum);
    for value in values {
        sum += term(*value);
        sums.push(sum);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same without sums.
    fn plainly(values: &[f64]) -> (f64, f64) {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let cut = trimmed(sorted.len());
        let kept = &sorted[cut..sorted.len() - cut];
        let centre = kept.iter().sum::<f64>() / float(kept.len());
        let (low, high) = (kept[0], kept[kept.len() - 1]);
        let bounded: Vec<f64> = sorted.iter().map(|it| it.clamp(low, high)).collect();
        let mean = bounded.iter().sum::<f64>() / float(bounded.len());
        let squares: f64 = bounded.iter().map(|it| (it - mean) * (it - mean)).sum();
        (centre, libm::sqrt(squares / float(bounded.len() - 1)))
    }

    #[test]
    fn sums_give_what_each_group_without_one_disk_gives() {
        let values: Vec<f64> =
            (0..23).map(|i| 4.3 + f64::from(i * 37 % 23 * (i % 5)) / 90.0).collect();
        for count in [8, 10, 11, 12, 20, 21, 23] {
            let runs: Vec<Vec<f64>> =
                values[..count].iter().map(|it| vec![libm::exp(*it)]).collect();
            let sorted = Sorted::of(&runs).unwrap();
            for disk in 0..count {
                let mut others = sorted.figures.clone();
                others.remove(disk);
                let (centre, deviation) = plainly(&others);
                let peers = sorted.peers_of(disk);
                assert!((peers.centre - centre).abs() < 1e-12, "{count} {disk}");
                assert!((peers.deviation - deviation).abs() < 1e-9, "{count} {disk}");
                let alone = Peers::of(others);
                assert!((peers.deviation - alone.deviation).abs() < 1e-9, "{count} {disk}");
            }
        }
    }
}
