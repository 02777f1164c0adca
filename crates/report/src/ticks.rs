//! Round values for the lines across a plot.

/// A round distance between `count` lines at most up to `most`: 1, 2 or 5 times a power of ten.
pub(crate) fn step(most: f64, count: f64) -> f64 {
    let raw = most / count;
    let power = libm::pow(10.0, libm::floor(libm::log10(raw)));
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= raw);
    factor.unwrap_or(10.0) * power
}

/// A value on a scale of that step.
pub(crate) fn number(value: f64, step: f64) -> String {
    if step < 1.0 { format!("{value:.2}") } else { format!("{value:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_and_few() {
        for (most, expected) in [(1.0, 0.2), (42.9, 10.0), (100.0, 20.0), (0.07, 0.02)] {
            assert!((step(most, 5.0) / expected - 1.0).abs() < 1e-9, "{most}: {}", step(most, 5.0));
        }
    }
}
