//! P values adjusted for having looked at many.

use crate::interval::float;

/// Returns Holm's adjusted p values: any false alarm in the family at most at the level asked
/// for, whatever the dependence.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let mut adjusted = vec![1.0; p.len()];
    let mut running = 0.0_f64;
    for (rank, &i) in order.iter().enumerate() {
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
