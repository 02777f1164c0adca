//! Remarks on a result, and their conditions.

use super::order::{OrderEffect, OrderTest};
use super::sample::Sample;
use super::verdict::{Decision, Verdict};
use crate::criteria::{Criteria, Provenance};
use crate::kendall::Kendall;
use crate::pair::{Arm, Pair};
use crate::warning::{Warning, WarningId};

/// Level of the test for a difference in spread: a remark, so it should be rarely wrong.
const SHAPE_LEVEL: f64 = 0.01;
/// Blocks with which the spread is judged: enough to see it, and few enough for a test that takes
/// the square of them in time.
const SHAPE_BLOCKS: std::ops::RangeInclusive<usize> = 10..=1_000;
pub(super) struct Facts<'a> {
    pub(super) pairs: &'a [Pair],
    pub(super) copies: usize,
    pub(super) sample: &'a Sample,
    pub(super) order: Option<(&'a OrderTest, OrderEffect)>,
    pub(super) decision: Decision,
    pub(super) criteria: &'a Criteria,
}

pub(super) fn remarks(facts: &Facts) -> Vec<Warning> {
    let all = [
        few_blocks(facts),
        duplicates(facts),
        no_variation(facts),
        ties(facts),
        disagreement(facts),
        shape(facts),
        order_effect(facts),
        order_balance(facts),
    ];
    all.into_iter().flatten().collect()
}

fn when(condition: bool, id: WarningId, advice: impl FnOnce() -> String) -> Option<Warning> {
    condition.then(|| Warning::new(id, advice()))
}

fn few_blocks(facts: &Facts) -> Option<Warning> {
    let (n, least) = (facts.pairs.len(), facts.criteria.blocks_min());
    let percent = 100.0 * facts.criteria.alpha;
    when(n < least as usize, WarningId::FewBlocks, || {
        format!(
            "n = {n}, but at least {least} blocks are needed: chance alone gives as clear a result \
                 more than {percent} % of the time; run each arm {least} times or more"
        )
    })
}

fn duplicates(facts: &Facts) -> Option<Warning> {
    let (kept, copies) = (facts.pairs.len(), facts.copies);
    when(copies > 0, WarningId::DuplicateBlocks, || {
        format!(
            "{copies} of {} blocks repeat both values of another block exactly and were \
                 ignored; copies carry no information: check how the file was made",
            kept + copies
        )
    })
}

fn no_variation(facts: &Facts) -> Option<Warning> {
    let n = facts.pairs.len();
    let expected = facts.criteria.provenance == Provenance::Simulated;
    when(n > 1 && !expected && !facts.sample.has_variation(), WarningId::NoVariation, || {
        format!(
            "all {n} blocks gave the same ratio, so the interval has no width: normal for a \
                 simulation with a fixed seed; on hardware, check that the runs are separate"
        )
    })
}

fn ties(facts: &Facts) -> Option<Warning> {
    let (n, distinct) = (facts.pairs.len(), facts.sample.distinct());
    when(facts.sample.has_variation() && 2 * distinct <= n, WarningId::TiedValues, || {
        format!(
            "only {distinct} different ratios in {n} blocks: the metric has coarse steps; run \
                 longer or use a finer unit"
        )
    })
}

fn disagreement(facts: &Facts) -> Option<Warning> {
    facts.decision.disputed.then(|| {
        let what = match facts.decision.verdict {
            Verdict::Inconclusive => "so nothing is concluded",
            _ => "so only what they share is concluded",
        };
        Warning::new(
            WarningId::Skew,
            format!(
                "mean (paired t), Hodges-Lehmann and sign-flip test do not support the same \
                 claim, {what}: look at the plot for outliers or two modes, then run more blocks"
            ),
        )
    })
}

/// Spread differs if the log ratio of a block goes with its size: the correlation of difference
/// and sum of two variables is zero exactly if their variances are equal (Pitman 1939, Morgan
/// 1939), here by ranks because of outliers.
fn shape(facts: &Facts) -> Option<Warning> {
    if !SHAPE_BLOCKS.contains(&facts.pairs.len()) || !facts.sample.has_variation() {
        return None;
    }
    let sizes: Vec<f64> = facts.pairs.iter().map(|p| libm::log(p.a) + libm::log(p.b)).collect();
    let ratios: Vec<f64> = facts.pairs.iter().map(|p| p.log_ratio(facts.criteria.better)).collect();
    (Kendall::new(&sizes, &ratios).p(1.0) < SHAPE_LEVEL).then(|| {
        Warning::new(
            WarningId::ShapeDiffers,
            "the arms differ in spread, not only in level, so one ratio does not describe the \
             difference; compare their quantiles",
        )
    })
}

fn order_effect(facts: &Facts) -> Option<Warning> {
    let (test, effect) = facts.order?;
    let (p, percent) = (test.p, 100.0 * (test.bias_max - 1.0));
    let found =
        format!("the arm that runs first changes the result by up to {percent:.2} % (p = {p:.4})");
    match effect {
        OrderEffect::None => None,
        OrderEffect::Harmless => Some(Warning::new(
            WarningId::OrderEffect,
            format!("{found}, which does not change the verdict"),
        )),
        OrderEffect::Decisive => Some(Warning::new(
            WarningId::CarryOver,
            format!(
                "{found}, so its verdict is withheld: reset the drive between runs (caches, fill \
                 level) or pause longer, and start again"
            ),
        )),
    }
}

/// Blocks need half of each order, or drift within a block counts for one arm.
fn order_balance(facts: &Facts) -> Option<Warning> {
    let a = facts.pairs.iter().filter(|pair| pair.first == Some(Arm::A)).count();
    let b = facts.pairs.iter().filter(|pair| pair.first == Some(Arm::B)).count();
    // Blocks of unknown order are in neither count.
    let (fewer, more) = (a.min(b), a.max(b));
    if more < 2 {
        return None;
    }
    if fewer == 0 {
        return Some(Warning::new(
            WarningId::OrderConfounded,
            format!(
                "the same arm ran first in all {more} blocks: effects of the order (drift, \
                 warm-up) look like a difference between the arms; alternate the order"
            ),
        ));
    }
    when(more > 2 * fewer, WarningId::OrderUnbalanced, || {
        format!(
            "one arm ran first in {more} blocks, the other in {fewer}: drift within blocks \
                 does not cancel; balance the order"
        )
    })
}
