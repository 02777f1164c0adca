//! Experiments in which an arm takes a reboot, and every boot differs a little from every other.

use drivelab_stats::{Arm, Pair};

use crate::truth::random::Random;

/// Which boots the blocks have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Boots {
    /// Every block enters each of its arms anew.
    Own,
    /// The arm in which a block ends is still in place when the next begins with it: neighbouring
    /// blocks share a boot. A layout that must fail.
    Shared,
}

/// An experiment with arms A B, B A, A B, ... and no true difference unless one is given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reboots {
    pub(crate) boots: Boots,
    pub(crate) blocks: usize,
    /// Runs of each stay, averaged to one value.
    pub(crate) repeats: u32,
    /// Deviation of the logarithm from boot to boot.
    pub(crate) boot_sd: f64,
    /// Deviation of the logarithm from run to run within a boot.
    pub(crate) run_sd: f64,
    /// True log ratio.
    pub(crate) truth: f64,
}

impl Reboots {
    pub(crate) fn experiment(&self, random: &mut Random) -> Vec<Pair> {
        let mut boot: Option<(Arm, f64)> = None;
        let mut block = |place: usize| {
            let order = if place.is_multiple_of(2) { [Arm::A, Arm::B] } else { [Arm::B, Arm::A] };
            let [first, second] = order.map(|arm| {
                let kept = boot.filter(|(of, _)| self.boots == Boots::Shared && *of == arm);
                let level = kept.map_or_else(|| self.boot_sd * random.normal(), |(_, level)| level);
                boot = Some((arm, level));
                self.stay(arm, level, random)
            });
            match order[0] {
                Arm::A => Pair::new(first, second).with_first(Arm::A),
                Arm::B => Pair::new(second, first).with_first(Arm::B),
            }
        };
        (0..self.blocks).map(&mut block).collect()
    }

    /// The geometric mean of the runs of one stay.
    fn stay(&self, arm: Arm, level: f64, random: &mut Random) -> f64 {
        let effect = if arm == Arm::B { self.truth } else { 0.0 };
        let noise: f64 = (0..self.repeats).map(|_| self.run_sd * random.normal()).sum();
        1000.0 * libm::exp(effect + level + noise / f64::from(self.repeats))
    }
}
