//! P values adjusted for the number of comparisons.

use crate::numbers::float;

/// Returns Holm's adjusted p values: the probability of any false alarm in the family is at most
/// the level asked for, under any dependence.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let mut adjusted = vec![1.0; p.len()];
    let mut running = 0.0_f64;
    for (rank, &i) in order.iter().enumerate() {
        // Never below a smaller p value's: the method steps down and stops at the first that fails.
        running = running.max(scaled(p[i], p.len() - rank));
        adjusted[i] = running;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    order
}
fn scaled(p: f64, factor: usize) -> f64 {
    (p * float(factor)).min(1.0)
}
