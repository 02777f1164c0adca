//! The order of an experiment's runs.
//!
//! Consecutive runs share any drift: temperature, other load, the age of a file system. Randomised
//! complete blocks keep drift out of the comparison: each block contains every arm once, close
//! together and in an order that is balanced over the blocks.

mod stage;

use serde::{Deserialize, Serialize};

use crate::rng::Rng;

pub use stage::{Scale, StageName};

/// The layout of arms over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// Every block contains every arm once, in seeded order; switching arms is cheap.
    Interleaved,
    /// Entering an arm costs a reboot: all runs of an arm in a block are made in one stay. Every
    /// block enters each of its arms again, including the one that is already active when it
    /// begins: boots differ, and blocks that share one are not independent.
    Grouped,
}

/// All workloads once, in one arm. Steps of one block and arm are a stay: each stay enters its arm
/// again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The block it belongs to; arms are compared within it.
    pub block: u32,
    /// Index of the arm in the study.
    pub arm: usize,
    /// Index among the arm's runs in this block; above 0 only in a grouped design.
    pub repeat: u32,
    /// The arm's position in its block's order, from 0.
    pub position: u32,
}

impl Step {
    /// True if the arm stays active from one step to the other.
    pub fn shares_stay_with(&self, other: &Self) -> bool {
        (self.block, self.arm) == (other.block, other.arm)
    }
}

/// All steps of an experiment, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Layout of the arms.
    pub design: Design,
    /// Blocks: the number of independent comparisons, the n of the statistics.
    pub blocks: u32,
    /// Every step.
    pub steps: Vec<Step>,
}

/// The smallest number of blocks with which an exact two-sided test can reach 5 %: 2 of 2^6 sign
/// patterns are at least as extreme as all blocks agreeing, 2/64 = 3.1 %; with five blocks it is
/// 6.3 %.
pub const BLOCKS_MIN: u32 = 6;

impl Plan {
    /// A plan for `arms` arms in `blocks` blocks, ordered by `seed`.
    ///
    /// [`Design::Grouped`] reboots as rarely as the statistics allow: it gathers the requested runs
    /// into [`BLOCKS_MIN`] blocks, because fewer could not decide anything. Its unit is a pair of
    /// boots; runs within one show how steady a boot is, not how boots differ.
    pub fn new(design: Design, arms: usize, blocks: u32, seed: u64) -> Self {
        // A part that no block has, so that orders and runs draw independently.
        let mut rng = Rng::for_part(seed, u64::from(u32::MAX));
        match design {
            Design::Interleaved => {
                let orders = balanced_orders(arms, blocks, &mut rng);
                Self { design, blocks, steps: steps(&orders, |_| 1) }
            }
            Design::Grouped => {
                let groups = blocks.min(BLOCKS_MIN);
                let orders = alternating_orders(arms, groups, &mut rng);
                // The remainder goes to the first groups.
                let repeats = |block| blocks / groups + u32::from(block < blocks % groups);
                Self { design, blocks: groups, steps: steps(&orders, repeats) }
            }
        }
    }

    /// Number of stays: the number of boots, if entering an arm takes one.
    pub fn stays(&self) -> usize {
        let later = self.steps.windows(2).filter(|pair| !pair[0].shares_stay_with(&pair[1]));
        later.count() + usize::from(!self.steps.is_empty())
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

/// Orders in which every arm takes every position, and follows every other, equally often, as far
/// as the number of blocks allows.
///
/// The rows of a Williams square, used up in random order with the arms relabelled at random each
/// time. (Williams 1949, "Experimental designs balanced for the estimation of residual effects of
/// treatments".)
fn balanced_orders(arms: usize, blocks: u32, rng: &mut Rng) -> Vec<Vec<usize>> {
    assert!(arms > 0 || blocks == 0, "without arms there is no order to repeat");
    let mut orders = Vec::new();
    // Squares are drawn until there are enough rows; the last one is cut.
    while orders.len() < blocks as usize {
        let mut labels: Vec<usize> = (0..arms).collect();
        rng.shuffle(&mut labels);
        let mut rows = williams(arms);
        // The rows that a cut leaves must not always be the same.
        rng.shuffle(&mut rows);
        orders.extend(
            rows.into_iter().map(|row| row.into_iter().map(|label| labels[label]).collect()),
        );
    }
    orders.truncate(blocks as usize);
    orders
}

/// A Williams square of `k` treatments: k rows where k is even, 2k where it is odd.
fn williams(k: usize) -> Vec<Vec<usize>> {
    // 0, k-1, 1, k-2, ...: each difference between neighbours occurs once.
    let zigzag: Vec<usize> =
        (0..k).map(|i| if i % 2 == 0 { i / 2 } else { k - 1 - i / 2 }).collect();
    let mut rows: Vec<Vec<usize>> = (0..k)
        .map(|shift| zigzag.iter().map(|treatment| (treatment + shift) % k).collect())
        .collect();
    // In an odd square each difference is balanced only together with its mirror image.
    if k % 2 == 1 && k > 1 {
        let mirrored: Vec<Vec<usize>> =
            rows.iter().map(|row| row.iter().rev().copied().collect()).collect();
        rows.extend(mirrored);
    }
    debug_assert!(rows.iter().all(|row| row.len() == k));
    rows
}

/// Orders that alternate forwards and backwards: of two arms, each is first in half of the blocks,
/// and a steady drift from boot to boot cancels.
fn alternating_orders(arms: usize, blocks: u32, rng: &mut Rng) -> Vec<Vec<usize>> {
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
    fn boots_are_as_few_as_independent_blocks_allow() {
        let check = |arms, blocks, groups, boots| {
            let plan = Plan::new(Design::Grouped, arms, blocks, 1);
            assert_eq!((plan.blocks, plan.stays()), (groups, boots), "{arms} x {blocks}");
            assert_eq!(plan.steps.len(), arms * blocks as usize);
        };
        check(2, 10, 6, 12);
        check(2, 6, 6, 12);
        check(2, 3, 3, 6);
        check(3, 10, 6, 18);
        check(2, 0, 0, 0);
        // Interleaved, the same runs would take more.
        assert_eq!(interleaved(2, 20, 1).stays(), 40);
    }

    #[test]
    fn no_stay_reaches_into_another_block() {
        for design in [Design::Grouped, Design::Interleaved] {
            let plan = Plan::new(design, 2, 10, 3);
            let across = |pair: &&[Step]| pair[0].block != pair[1].block;
            assert!(plan.steps.windows(2).filter(across).all(|p| !p[0].shares_stay_with(&p[1])));
        }
    }

    #[test]
    fn grouped_blocks_begin_by_turns_with_either_arm() {
        let plan = Plan::new(Design::Grouped, 2, 10, 5);
        let first = |arm: usize| count(&plan, |s| (s.arm, s.position, s.repeat) == (arm, 0, 0));
        assert_eq!((first(0), first(1)), (3, 3));
    }
}
