//! P values adjusted for having looked at many.

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

/// Returns Benjamini & Hochberg's adjusted p values: the share of false alarms among all alarms
/// at most at the level asked for. For exploring, not for gates.
#[expect(clippy::cast_precision_loss, reason = "a family has far fewer than 2^52 members")]
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let order = ascending(p);
    let mut adjusted = vec![1.0; p.len()];
    let mut running = 1.0_f64;
    for (rank, &i) in order.iter().enumerate().rev() {
        running = running.min(p[i] * p.len() as f64 / (rank + 1) as f64);
        adjusted[i] = running;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    order
}

#[expect(clippy::cast_precision_loss, reason = "a family has far fewer than 2^52 members")]
fn scaled(p: f64, factor: usize) -> f64 {
    (p * factor as f64).min(1.0)
}
