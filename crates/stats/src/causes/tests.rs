use super::*;
use crate::causes::cholesky::Cholesky;

fn evidence(ratios: &[f64], sd: f64) -> Evidence {
    let noisy = |ratio: &f64| Noisy { log_ratio: libm::log(*ratio), sd };
    Evidence { figures: ratios.iter().map(noisy).collect() }
}

/// Drives around a ratio, whose figures move together.
fn effects(ratios: &[f64], spread: f64) -> Predicted {
    let row = |number: u32| {
        let shift = spread * (f64::from(number) - 9.5) / 9.5;
        ratios.iter().map(|ratio| libm::log(*ratio) * (1.0 + shift)).collect()
    };
    let errors = vec![ModelError { own: 0.02, shared: 0.0 }; ratios.len()];
    Predicted::Effects { drives: (0..20).map(row).collect(), errors }
}

fn hypotheses(of_causes: &[&[f64]]) -> Vec<Hypothesis> {
    let fixed = [(0.2, Predicted::Chance), (0.1, Predicted::Unknown)];
    let causes = of_causes.iter().map(|it| (0.1, effects(it, 0.2)));
    let all = fixed.into_iter().chain(causes);
    all.map(|(prior, predicted)| Hypothesis { prior, predicted }).collect()
}

fn first(ratios: &[f64], of_causes: &[&[f64]]) -> usize {
    let found = posterior(&evidence(ratios, 0.03), &hypotheses(of_causes));
    let total: f64 = found.iter().sum();
    assert!((total - 1.0).abs() < 1e-9);
    let best = found.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    best.map(|(index, _)| index).unwrap()
}

#[test]
fn a_factor_gives_determinant_and_distance() {
    let factor = Cholesky::new(&[vec![4.0, 2.0], vec![2.0, 3.0]]).unwrap();
    assert!((factor.log_determinant() - libm::log(8.0)).abs() < 1e-12);
    // The inverse is [3 -2; -2 4] / 8.
    assert!((factor.distance(&[1.0, 2.0]) - 11.0 / 8.0).abs() < 1e-12);
    assert!(Cholesky::new(&[vec![1.0, 2.0], vec![2.0, 1.0]]).is_none());
}

#[test]
fn the_cause_whose_ratios_were_measured_is_first() {
    let causes: [&[f64]; 2] = [&[2.0, 1.0, 1.5], &[1.0, 3.0, 1.0]];
    assert_eq!(first(&[2.1, 1.01, 1.52], &causes), 2);
    assert_eq!(first(&[0.99, 2.8, 1.02], &causes), 3);
}

#[test]
fn nothing_measured_is_chance_and_what_no_cause_predicts_is_unknown() {
    let causes: [&[f64]; 2] = [&[2.0, 1.0, 1.5], &[1.0, 3.0, 1.0]];
    assert_eq!(first(&[1.01, 0.98, 1.02], &causes), 0);
    assert_eq!(first(&[0.3, 1.0, 2.5], &causes), 1);
}

#[test]
fn an_unknown_cause_mostly_slows_or_speeds_up_all_that_it_changes() {
    let density = |ratios: &[f64]| Predicted::Unknown.log_density(&evidence(ratios, 0.03));
    assert!(density(&[0.5, 0.7]) > density(&[0.5, 1.43]) + 1.0);
    let both = [density(&[0.5, 0.7]), density(&[2.0, 1.0 / 0.7])];
    assert!((both[0] - both[1]).abs() < 1e-9, "{both:?}");
}

#[test]
fn every_density_integrates_to_one() {
    let sd = 0.05;
    for predicted in [Predicted::Chance, Predicted::Unknown, effects(&[2.0], 0.3)] {
        let step = 0.001;
        let points = (-60_000..60_000).map(|at| f64::from(at) * step);
        let density = |log_ratio| {
            let figures = vec![Noisy { log_ratio, sd }];
            libm::exp(predicted.log_density(&Evidence { figures }))
        };
        let total: f64 = points.map(|at| density(at) * step).sum();
        // Of Cauchy's distribution 0.27 % are beyond 60.
        assert!((total - 1.0).abs() < 3e-3, "{predicted:?}: {total}");
    }
}

#[test]
fn figures_that_move_together_are_no_independent_witnesses() {
    // Both figures are off by the same factor, as a slow drive would have it; then in opposite
    // directions, as no drive has it.
    let cause = effects(&[2.0, 2.0], 0.3);
    let density = |ratios: &[f64]| cause.log_density(&evidence(ratios, 0.03));
    assert!(density(&[1.75, 1.75]) > density(&[1.75, 2.28]) + 3.0);
}

#[test]
fn kinds_of_drives_keep_their_kinds() {
    let row = |number: u32| vec![if number < 32 { 0.0 } else { 1.0 }];
    let drives = (0..64).map(row).collect();
    let cause = Predicted::Effects { drives, errors: vec![ModelError { own: 0.02, shared: 0.0 }] };
    let at =
        |log_ratio| cause.log_density(&Evidence { figures: vec![Noisy { log_ratio, sd: 0.05 }] });
    assert!(at(0.9) > at(0.5) && at(0.1) > at(0.5));
}

#[test]
fn contributions_say_which_figure_decides() {
    let measured = evidence(&[2.0, 1.0], 0.03);
    let causes: [&[f64]; 2] = [&[2.0, 1.0], &[1.0, 1.0]];
    let [cause, other] = causes.map(|it| contributions(&measured, &effects(it, 0.2)));
    let [decides, does_not] = [cause[0] - other[0], cause[1] - other[1]];
    // A figure that is far off makes the kernel of the rest wider: they share its t.
    assert!(decides > 5.0 && decides > 2.0 * does_not.abs(), "{decides} {does_not}");
}

#[test]
fn a_measurement_that_separates_two_causes_gives_a_bit() {
    let of = |ratios: [f64; 2], sd| {
        let outlook = |ratio| Outlook { probability: 0.5, predicted: effects(&[ratio], 0.05) };
        information(&ratios.map(outlook), sd)
    };
    assert!(of([3.0, 1.0], 0.03) > 0.95);
    assert!(of([1.0, 1.0], 0.03) < 0.01);
    assert!(of([1.1, 1.0], 0.5) < 0.05);
}

#[test]
fn an_error_of_a_mechanism_moves_all_its_effects_alike() {
    let errors = [0.2, -0.2].map(|shared| ModelError { own: 0.01, shared }).to_vec();
    let cause = Predicted::Effects { drives: vec![vec![1.0, -1.0]; 8], errors };
    let density = |figures: [f64; 2]| {
        let figures = figures.map(|log_ratio| Noisy { log_ratio, sd: 0.03 }).to_vec();
        cause.log_density(&Evidence { figures })
    };
    // Both effects a fifth larger than predicted, or one larger and the other smaller.
    assert!(density([1.2, -1.2]) > density([1.2, -0.8]) + 3.0);
}
