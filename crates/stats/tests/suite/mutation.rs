//! Would the known-truth grid notice a wrong analysis? Each test replaces one part of the method
//! by a wrong one and shows a limit that then breaks and that the right method keeps.

mod pipeline;
mod wrong;

use drivelab_stats::{WarningId, compare};

use crate::truth::drift::Drift;
use crate::truth::experiment::{Cell, MARGIN, RUN_SD, criteria, randomised_blocks};
use crate::truth::family;
use crate::truth::noise::Noise;
use crate::truth::random::Random;
use crate::truth::rates::{measure, violations};
use pipeline::Pipeline;
pub(crate) use wrong::welch_p;

/// As many as in the full grid, so that its margins hold here.
const EXPERIMENTS: u32 = 2_000;
const SEED: u64 = 4;

fn cell(effect: f64, drift: Drift, blocks: usize) -> Cell {
    Cell { effect, noise: Noise::Normal, drift, unequal: false, blocks, run_sd: RUN_SD }
}

/// Says that the mutant breaks the limit named, and the method none.
#[track_caller]
fn check(cell: &Cell, mutant: &Pipeline, limit: &str) {
    check_in(EXPERIMENTS, cell, mutant, limit);
}

#[track_caller]
fn check_in(experiments: u32, cell: &Cell, mutant: &Pipeline, limit: &str) {
    let broken = |pipeline: &Pipeline| {
        let rates =
            measure(cell, experiments, SEED, pipeline.design, |pairs| pipeline.judge(pairs));
        violations(cell, &rates)
    };
    let right = broken(&Pipeline::METHOD);
    assert!(right.is_empty(), "the method itself breaks limits: {right:?}");
    let found = broken(mutant);
    assert!(found.iter().any(|v| v.starts_with(limit)), "mutant survives: {found:?}");
}

#[test]
fn the_pipeline_unchanged_is_what_compare_does() {
    let mut random = Random::new(SEED);
    for blocks in [6, 10, 20] {
        for effect in [-0.10, -MARGIN, 0.0, 0.5 * MARGIN, 0.10] {
            for noise in Noise::ALL {
                let cell = Cell { noise, ..cell(effect, Drift::Linear, blocks) };
                let pairs = cell.experiment(randomised_blocks, &mut random);
                let ours = compare(&pairs, &criteria()).unwrap();
                let parts = Pipeline::METHOD.judge(&pairs);
                // The order test comes after the parts under mutation.
                if ours.warnings.iter().all(|w| w.id != WarningId::CarryOver) {
                    assert_eq!(ours.verdict, parts.verdict, "{cell:?}");
                }
            }
        }
    }
}

#[test]
fn unpaired_test_is_caught() {
    // Drift that pairs cancel widens the unpaired interval: it covers too often (98.5 %), power is
    // lost. The grid sees this too: it pools 10,000 experiments of all effects.
    let mutant = Pipeline { main: wrong::welch_interval, ..Pipeline::METHOD };
    check_in(4_000, &cell(0.0, Drift::Ar(0.9), 40), &mutant, "interval covers");
}

#[test]
fn sequential_order_is_caught() {
    let mutant = Pipeline { design: wrong::all_a_then_all_b, ..Pipeline::METHOD };
    check(&cell(0.0, Drift::Ar(0.9), 20), &mutant, "difference where there is none");
}

#[test]
fn bca_bootstrap_is_caught() {
    let mutant = Pipeline { main: wrong::bca_interval, ..Pipeline::METHOD };
    check(&cell(0.0, Drift::None, 6), &mutant, "interval misses the truth");
}

#[test]
fn missing_multiplicity_is_caught() {
    let share = |adjust: family::Adjust| family::any_false_alarm(600, adjust);
    // 5 % and three standard errors at 600 families.
    let limit = 5.0 + 2.7;
    let (right, mutant) = (share(family::max_t), share(family::unadjusted));
    assert!(right <= limit, "max-T: {right} % of families");
    assert!(mutant > limit, "mutant survives: {mutant} % of families");
}

#[test]
fn dropped_logarithm_is_caught() {
    // On a loud host the mean of B/A exceeds one, and so does the mean of A/B.
    let loud = Cell { run_sd: 0.3, ..cell(0.0, Drift::None, 40) };
    let mutant = Pipeline { block: wrong::relative_difference, ..Pipeline::METHOD };
    check(&loud, &mutant, "interval misses the truth");
}

#[test]
fn wrong_equivalence_bound_is_caught() {
    let mutant = Pipeline { bound: 2.0 * Pipeline::METHOD.bound, ..Pipeline::METHOD };
    check(&cell(MARGIN, Drift::None, 20), &mutant, "equivalence though");
}

#[test]
fn wrong_confidence_of_equivalence_is_caught() {
    let mutant = Pipeline { equivalence: 0.5, ..Pipeline::METHOD };
    check(&cell(MARGIN, Drift::None, 20), &mutant, "equivalence though");
}
