//! Groups too small to be judged, disk by disk, with an exact test.

use super::judgement::PEER_GROUP_MIN;
use crate::numbers::{float, mean};

/// Up to here all divisions of the runs among the disks are tried: four disks of three runs have
/// 369,600, a fifth of a second.
const DIVISIONS_MAX: u64 = 400_000;
/// Sums of squares that differ by less are equal: rounding.
const TIE: f64 = 1e-9;

/// The disks of a small group, side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct SideBySide {
    /// For each disk the geometric mean of its runs.
    pub figures: Vec<f64>,
    /// For each disk the number of its runs.
    pub runs: Vec<usize>,
    /// The exact p value of "all runs are draws of one level, whichever disk they are of"; `None`
    /// where there are too few runs for 5 %, or too many divisions.
    pub p: Option<f64>,
}

/// Compares a group of two to seven disks; `None` for any other.
///
/// The statistic is the sum of squares between the disks, of logarithms; its distribution is that
/// over all divisions of the runs among the disks (Fisher 1935; Pitman 1937).
pub fn side_by_side(group: &[Vec<f64>]) -> Option<SideBySide> {
    if !(2..PEER_GROUP_MIN).contains(&group.len()) || group.iter().any(Vec::is_empty) {
        return None;
    }
    let logs: Vec<Vec<f64>> =
        group.iter().map(|runs| runs.iter().map(|value| libm::log(*value)).collect()).collect();
    Some(SideBySide {
        figures: logs.iter().map(|runs| libm::exp(mean(runs))).collect(),
        runs: group.iter().map(Vec::len).collect(),
        p: p_value(&logs),
    })
}

fn p_value(groups: &[Vec<f64>]) -> Option<f64> {
    let pooled = groups.concat();
    let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
    let count = divisions(&sizes);
    // The smallest p value has at least the observed division, and those that only swap disks with
    // equally many runs.
    if count > DIVISIONS_MAX {
        return None;
    }
    let most = sizes.iter().copied().max().unwrap_or(0);
    let swaps: u64 = (1..=most)
        .map(|size| sizes.iter().filter(|it| **it == size).count())
        .map(|equal| (1..=equal as u64).product::<u64>())
        .product();
    if swaps.saturating_mul(20) > count {
        return None;
    }
    let centre = mean(&pooled);
    let centred: Vec<f64> = pooled.iter().map(|value| value - centre).collect();
    let total: f64 = centred.iter().map(|value| value * value).sum();
    if total <= TIE * TIE {
        return None;
    }
    let sums: Vec<f64> =
        groups.iter().map(|runs| runs.iter().map(|value| value - centre).sum()).collect();
    let mut tried =
        Tried { observed: between(&sums, &sizes) - TIE * total, sizes: &sizes, all: 0, large: 0 };
    let mut sums = vec![0.0; sizes.len()];
    tried.divide(&centred, &mut sizes.clone(), &mut sums);
    debug_assert_eq!(tried.all, count, "each division is tried once");
    #[expect(clippy::cast_precision_loss, reason = "at most DIVISIONS_MAX")]
    Some(tried.large as f64 / tried.all as f64)
}

/// The divisions that were tried, and those with as large a statistic.
struct Tried<'a> {
    observed: f64,
    sizes: &'a [usize],
    all: u64,
    large: u64,
}

impl Tried<'_> {
    /// Gives the first of the remaining runs to each disk that has room, and goes on with the rest.
    fn divide(&mut self, rest: &[f64], room: &mut [usize], sums: &mut [f64]) {
        let Some((value, rest)) = rest.split_first() else {
            self.all += 1;
            self.large += u64::from(between(sums, self.sizes) >= self.observed);
            return;
        };
        for disk in 0..room.len() {
            if room[disk] == 0 {
                continue;
            }
            room[disk] -= 1;
            let before = sums[disk];
            sums[disk] += value;
            self.divide(rest, room, sums);
            // Restored, not subtracted: rounding would add up.
            sums[disk] = before;
            room[disk] += 1;
        }
    }
}

/// The sum of squares between the groups, of values around their common mean.
fn between(sums: &[f64], sizes: &[usize]) -> f64 {
    sums.iter().zip(sizes).map(|(sum, size)| sum * sum / float(*size)).sum()
}

/// The number of ways to divide the runs among disks of these numbers of runs; at most one more
/// than are ever tried.
fn divisions(sizes: &[usize]) -> u64 {
    let (mut ways, mut placed) = (1_u64, 0_u64);
    for size in sizes {
        for step in 1..=*size as u64 {
            placed += 1;
            // Without a remainder: the product of binomial coefficients so far.
            ways = ways.saturating_mul(placed) / step;
            if ways > DIVISIONS_MAX {
                return DIVISIONS_MAX + 1;
            }
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p(group: &[&[f64]]) -> Option<f64> {
        let group: Vec<Vec<f64>> = group.iter().map(|runs| runs.to_vec()).collect();
        side_by_side(&group).unwrap().p
    }

    #[test]
    fn divisions_are_multinomial_coefficients() {
        assert_eq!(divisions(&[4, 4]), 70);
        assert_eq!(divisions(&[3, 3, 3]), 1680);
        assert_eq!(divisions(&[3, 3, 3, 3]), 369_600);
        assert_eq!(divisions(&[1, 2, 3]), 60);
        assert_eq!(divisions(&[30, 30]), DIVISIONS_MAX + 1);
    }

    #[test]
    fn disks_that_lie_apart_have_the_smallest_p_value_that_there_is() {
        let (low, high) = ([100.0, 101.0, 102.0, 103.0], [150.0, 151.0, 152.0, 153.0]);
        assert_eq!(p(&[&low, &high]), Some(2.0 / 70.0));
        let third: &[f64] = &[120.0, 121.0, 122.0];
        assert_eq!(p(&[&low[..3], &high[..3], third]), Some(6.0 / 1680.0));
        // Equal disks: each division has as large a statistic, or nearly each.
        assert!(p(&[&low, &low]).unwrap() > 0.9);
    }

    #[test]
    fn where_no_p_value_can_reach_five_percent_there_is_none() {
        // Two and two runs: the best of 6 divisions is 2 of them.
        assert_eq!(p(&[&[1.0, 2.0], &[3.0, 4.0]]), None);
        assert_eq!(p(&[&[1.0], &[3.0]]), None);
        // Three and three: 2 of 20, more runs than disks.
        assert_eq!(p(&[&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]]), None);
        assert_eq!(p(&[&[7.0; 4], &[7.0; 4]]), None);
        assert_eq!(p(&[&[1.0; 40], &[3.0; 40]]), None);
        let alone = [vec![1.0]];
        assert_eq!(side_by_side(&alone), None);
        assert_eq!(side_by_side(&vec![vec![1.0]; PEER_GROUP_MIN]), None);
        let found = side_by_side(&[vec![100.0, 400.0], vec![50.0]]).unwrap();
        assert!((found.figures[0] - 200.0).abs() < 1e-9 && found.runs == [2, 1]);
    }

    /// Of draws of one level, at most the share `p` has a p value up to `p`.
    #[test]
    fn the_p_value_is_valid_over_all_orders_of_the_same_runs() {
        let values = [3.1, 2.0, 5.5, 1.2, 4.4, 2.7];
        let mut found = Vec::new();
        for a in 0..6 {
            for b in a + 1..6 {
                for c in b + 1..6 {
                    let of = |is_first: bool| -> Vec<f64> {
                        let chosen = (0..6).filter(|i| [a, b, c].contains(i) == is_first);
                        chosen.map(|i| values[i]).collect()
                    };
                    let groups = [of(true), of(false)].map(|runs| {
                        runs.iter().map(|value: &f64| libm::log(*value)).collect::<Vec<f64>>()
                    });
                    // Below the limit of 5 %, so the inner function is asked.
                    let sizes = [3, 3];
                    assert_eq!(divisions(&sizes), 20);
                    found.push(exact(&groups));
                }
            }
        }
        found.sort_by(f64::total_cmp);
        for (rank, p) in found.iter().enumerate() {
            let share = float(rank + 1) / float(found.len());
            assert!(share <= p + 1e-9, "{p} is reached by {share} of all orders");
        }
    }

    /// The p value by counting all subsets, written differently.
    fn exact(groups: &[Vec<f64>; 2]) -> f64 {
        let all = groups.concat();
        let distance = |mask: u32| {
            let first: Vec<f64> =
                (0..all.len()).filter(|i| mask >> i & 1 == 1).map(|i| all[i]).collect();
            let second: Vec<f64> =
                (0..all.len()).filter(|i| mask >> i & 1 == 0).map(|i| all[i]).collect();
            (mean(&first) - mean(&second)).abs()
        };
        let observed = distance(0b111);
        let masks: Vec<u32> = (0_u32..64).filter(|mask| mask.count_ones() == 3).collect();
        let large = masks.iter().filter(|mask| distance(**mask) >= observed - 1e-9).count();
        let share = float(large) / float(masks.len());
        let (logs, sizes) = (groups.concat(), [3, 3]);
        let centre = mean(&logs);
        let centred: Vec<f64> = logs.iter().map(|value| value - centre).collect();
        let sums = [centred[..3].iter().sum::<f64>(), centred[3..].iter().sum()];
        let mut tried =
            Tried { observed: between(&sums, &sizes) - 1e-9, sizes: &sizes, all: 0, large: 0 };
        tried.divide(&centred, &mut [3, 3], &mut [0.0; 2]);
        #[expect(clippy::cast_precision_loss, reason = "20 divisions")]
        let found = tried.large as f64 / tried.all as f64;
        assert!((found - share).abs() < 1e-9, "{found} {share}");
        found
    }
}
