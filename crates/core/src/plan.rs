//! The order in which an experiment's runs are made.
//!
//! Runs made one after another share whatever drifts: temperature, other load, the age of a file
//! system. Randomised complete blocks keep drift out of the comparison: each block holds every arm
//! once, close together and in an order that is balanced over the blocks.

use serde::{Deserialize, Serialize};

use crate::rng::Rng;

/// How arms are laid out over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// Every block holds every arm once, in seeded order; switching arms is cheap.
    Interleaved,
    /// Switching arms costs a reboot: runs of one arm are made together, and the arm in place when
    /// a block ends is the first of the next block.
    Grouped,
}

/// One stay of an arm: all workloads, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The block it belongs to; arms are compared within it.
    pub block: u32,
    /// The arm, by its place in the study.
    pub arm: usize,
    /// Which of the arm's runs in this block; above 0 only in a grouped design.
    pub repeat: u32,
    /// The arm's place in its block's order, from 0.
    pub position: u32,
}

/// All steps of an experiment, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// How it is laid out.
    pub design: Design,
    /// Blocks: the number of independent comparisons, the n of the statistics.
    pub blocks: u32,
    /// Every step.
    pub steps: Vec<Step>,
}

/// The fewest blocks with which an exact two-sided test can reach 5 %: 2 of 2^6 sign patterns are
/// at least as extreme as all blocks agreeing, 2/64 = 3.1 %; with five blocks it is 6.3 %.
pub const BLOCKS_MIN: u32 = 6;

impl Plan {
    /// A plan for `arms` arms in `blocks` blocks, ordered by `seed`.
    ///
    /// [`Design::Grouped`] reboots as rarely as the statistics allow: the runs asked for are
    /// gathered into [`BLOCKS_MIN`] blocks, since fewer could not decide anything, and the boot,
    /// not the run, becomes the unit.
    pub fn new(design: Design, arms: usize, blocks: u32, seed: u64) -> Self {
        let mut rng = Rng::for_part(seed, u64::from(u32::MAX));
        match design {
            Design::Interleaved => {
                let orders = balanced_orders(arms, blocks, &mut rng);
                let steps = steps(&orders, |_| 1);
                Self { design, blocks, steps }
            }
            Design::Grouped => {
                let groups = blocks.min(BLOCKS_MIN);
                let orders = serpentine_orders(arms, groups, &mut rng);
                // What does not divide evenly goes to the first groups.
                let repeats = |block| blocks / groups + u32::from(block < blocks % groups);
                Self { design, blocks: groups, steps: steps(&orders, repeats) }
            }
        }
    }

    /// How often the arm changes from one step to the next: the reboots, where that takes one.
    pub fn switches(&self) -> usize {
        self.steps.windows(2).filter(|pair| pair[0].arm != pair[1].arm).count()
    }
}

fn steps(orders: &[Vec<usize>], repeats: impl Fn(u32) -> u32) -> Vec<Step> {
    let mut steps = Vec::new();
    for (block, order) in (0_u32..).zip(orders) {
        for (position, &arm) in (0_u32..).zip(order) {
            let repeat = 0..repeats(block);
            steps.extend(repeat.map(|repeat| Step { block, arm, repeat, position }));
        }
    }
    steps
}

/// Orders in which every arm takes every place, and follows every other, equally often, as far as
/// the number of blocks allows.
///
/// The rows of a Williams square, used up in random order with the arms relabelled at random each
/// time round. (Williams 1949, "Experimental designs balanced for the estimation of residual
/// effects of treatments".)
fn balanced_orders(arms: usize, blocks: u32, rng: &mut Rng) -> Vec<Vec<usize>> {
    let mut orders = Vec::new();
    while orders.len() < blocks as usize {
        let mut labels: Vec<usize> = (0..arms).collect();
        rng.shuffle(&mut labels);
        let mut rows = williams(arms);
        rng.shuffle(&mut rows);
        let named = |row: Vec<usize>| row.into_iter().map(|place| labels[place]).collect();
        orders.extend(rows.into_iter().map(named));
    }
    orders.truncate(blocks as usize);
    orders
}

/// A Williams square of `k` treatments: k rows where k is even, 2k where it is odd.
fn williams(k: usize) -> Vec<Vec<usize>> {
    // 0, k-1, 1, k-2, ...: each difference between neighbours occurs once.
    let zigzag: Vec<usize> =
        (0..k).map(|i| if i % 2 == 0 { i / 2 } else { k - 1 - i / 2 }).collect();
    let shifted = |by: usize| zigzag.iter().map(move |place| (place + by) % k).collect();
    let mut rows: Vec<Vec<usize>> = (0..k).map(shifted).collect();
    if k % 2 == 1 && k > 1 {
        let mirrored: Vec<Vec<usize>> =
            rows.iter().map(|row| row.iter().rev().copied().collect()).collect();
        rows.extend(mirrored);
    }
    rows
}

/// Orders that alternate forwards and backwards, so that neighbouring blocks share an arm.
fn serpentine_orders(arms: usize, blocks: u32, rng: &mut Rng) -> Vec<Vec<usize>> {
    let mut forward: Vec<usize> = (0..arms).collect();
    rng.shuffle(&mut forward);
    let backward: Vec<usize> = forward.iter().rev().copied().collect();
    (0..blocks).map(|block| if block % 2 == 0 { &forward } else { &backward }.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interleaved(arms: usize, blocks: u32, seed: u64) -> Plan {
        Plan::new(Design::Interleaved, arms, blocks, seed)
    }

    fn count(plan: &Plan, wanted: impl Fn(&Step) -> bool) -> usize {
        plan.steps.iter().filter(|step| wanted(step)).count()
    }

    #[test]
    fn each_block_holds_each_arm_once() {
        for (arms, blocks, seed) in [(2, 10, 1), (3, 7, 2), (4, 10, 3), (5, 1, 4)] {
            let plan = interleaved(arms, blocks, seed);
            for block in 0..blocks {
                for arm in 0..arms {
                    assert_eq!(count(&plan, |s| s.block == block && s.arm == arm), 1);
                }
            }
        }
    }

    #[test]
    fn every_arm_takes_every_place_equally_often() {
        for (arms, blocks) in [(2, 10), (3, 6), (4, 8), (5, 10)] {
            let plan = interleaved(arms, blocks, 7);
            for arm in 0..arms {
                for position in 0..u32::try_from(arms).unwrap() {
                    let times = count(&plan, |s| s.arm == arm && s.position == position);
                    assert_eq!(times, blocks as usize / arms, "{arms} arms");
                }
            }
        }
    }

    #[test]
    fn every_arm_follows_every_other_equally_often() {
        for (arms, blocks) in [(2, 10), (3, 6), (4, 8), (5, 10)] {
            let plan = interleaved(arms, blocks, 7);
            let mut follows = vec![0; arms * arms];
            for pair in plan.steps.windows(2).filter(|pair| pair[0].block == pair[1].block) {
                follows[pair[0].arm * arms + pair[1].arm] += 1;
            }
            let pairs = (0..arms * arms).filter(|index| index / arms != index % arms);
            let times: Vec<usize> = pairs.map(|index| follows[index]).collect();
            assert!(times.iter().all(|count| *count == times[0]), "{arms} arms: {times:?}");
        }
    }

    #[test]
    fn the_seed_decides_the_order() {
        assert_eq!(interleaved(4, 10, 1), interleaved(4, 10, 1));
        let differing = (2..20).filter(|seed| interleaved(2, 10, *seed) != interleaved(2, 10, 1));
        assert!(differing.count() > 10);
    }

    #[test]
    fn reboots_are_as_few_as_the_statistics_allow() {
        let check = |arms, blocks, groups, reboots| {
            let plan = Plan::new(Design::Grouped, arms, blocks, 1);
            assert_eq!((plan.blocks, plan.switches()), (groups, reboots), "{arms} x {blocks}");
            assert_eq!(plan.steps.len(), arms * blocks as usize);
        };
        check(2, 10, 6, 6);
        check(2, 6, 6, 6);
        check(2, 3, 3, 3);
        check(3, 10, 6, 12);
        // Interleaved, the same runs would take about three times as many.
        assert!(interleaved(2, 20, 1).switches() > 18);
    }
}
