//! Write amplification in closed form, for uniform random writes of one unit to a large drive.
//!
//! `utilisation` is the share of slots that hold a unit, between 0 and 1 exclusively; `slots` is
//! the number of slots in a block. Host and collection share one write frontier.

/// Any victim, for blocks of any size (Van Houdt 2013, "A mean field model for a class of garbage
/// collection algorithms in flash-based solid state drives", class C).
pub fn random(utilisation: f64) -> f64 {
    debug_assert!(utilisation > 0.0 && utilisation < 1.0, "{utilisation}");
    1.0 / (1.0 - utilisation)
}

/// The oldest block, and the limit of greedy choice for large blocks (Xiang and Kurkoski 2012,
/// arXiv:1110.4245; Desnoyers 2012).
///
/// The share x of a victim that is still valid solves x = exp(-(1 - x) / utilisation).
pub fn fifo(utilisation: f64) -> f64 {
    // Newton's method approaches the solution from below, since the curve is concave.
    let mut valid = 0.0;
    for _ in 0..60 {
        let at = libm::exp(-(1.0 - valid) / utilisation);
        valid += (at - valid) / (1.0 - at / utilisation);
    }
    1.0 / (1.0 - valid)
}

/// The block with the fewest valid slots (the fixed point of Bux and Iliadis 2010, solved for
/// finite blocks).
///
/// Victims have k or k + 1 valid slots; q is the share of those with k + 1.
pub fn greedy(utilisation: f64, slots: u32) -> f64 {
    let b = f64::from(slots);
    let held = b * utilisation;
    // H_b - H_(k+1), summed from the far end as k falls.
    let mut harmonic = 0.0;
    // From many valid slots to few: the first k with a valid share q is the fixed point.
    for k in (0..slots).rev() {
        let next = f64::from(k) + 1.0;
        let above = held * (harmonic + 1.0 / next) - (b - f64::from(k));
        let q = above / (held / next - 1.0);
        if held > next && (0.0..1.0).contains(&q) {
            return b / (b - f64::from(k) - q);
        }
        harmonic += 1.0 / next;
    }
    1.0
}

/// The best of `draws` blocks drawn at random (Van Houdt 2013).
///
/// With T(i) the share of blocks with at least i valid slots, the balance of each state sums
/// to i (T(i) - T(i+1)) = c (1 - T(i)^draws), where c is the write amplification times the
/// utilisation. The T(i) must add up to the valid slots of a block, which determines c.
pub fn best_of(draws: u32, utilisation: f64, slots: u32) -> f64 {
    let held = f64::from(slots) * utilisation;
    let c = bisect(0.0, 1_000.0, |c| valid_slots(c, draws, slots) < held);
    c / utilisation
}

fn valid_slots(c: f64, draws: u32, slots: u32) -> f64 {
    let (mut above, mut sum) = (0.0, 0.0);
    for i in (1..=slots).rev() {
        let rate = c / f64::from(i);
        let draws = f64::from(draws);
        above = bisect(above, 1.0, |t| t - above < rate * (1.0 - libm::pow(t, draws)));
        sum += above;
    }
    sum
}

/// Finds the point between `low` and `high` at which `too_low` turns false.
fn bisect(mut low: f64, mut high: f64, too_low: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        // 60 halvings exhaust the precision of an `f64`.
        if too_low(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the literature, to the digits printed there.
    #[test]
    fn published_values_come_out() {
        let check = |found: f64, expected: f64| {
            assert!((found - expected).abs() <= 0.000_6 * expected, "{found} for {expected}");
        };
        for (u, of_random, of_fifo) in
            [(0.7, 3.333, 1.876), (0.85, 6.667, 3.519), (0.93, 14.29, 7.318)]
        {
            check(random(u), of_random);
            check(fifo(u), of_fifo);
        }
        for (u, expected) in [
            (0.7, [1.793, 1.833, 1.854, 1.865]),
            (0.8, [2.514, 2.599, 2.645, 2.668]),
            (0.93, [6.057, 6.615, 6.945, 7.124]),
        ] {
            for (slots, expected) in [32, 64, 128, 256].into_iter().zip(expected) {
                check(greedy(u, slots), expected);
            }
        }
        for (u, expected) in [(0.7, [2.413, 2.037, 1.880]), (0.9, [6.852, 5.554, 5.000])] {
            for (draws, expected) in [2, 4, 10].into_iter().zip(expected) {
                check(best_of(draws, u, 64), expected);
            }
        }
    }
}
