//! What a run's value varies by, in units of its standard deviation.

use crate::truth::random::Random;

/// Shapes of run-to-run noise; all have mean zero, and all but `Outliers` variance one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noise {
    Normal,
    /// Student with three degrees of freedom: heavy tails.
    T3,
    /// A long tail on the slow side.
    Lognormal,
    /// One run in ten has five times the deviation.
    Outliers,
    /// Three runs in ten fall into a slow mode, four deviations of a mode away.
    Bimodal,
    /// Normal, but the metric is counted in steps of one standard deviation.
    Quantised,
}

impl Noise {
    pub(crate) const ALL: [Self; 6] =
        [Self::Normal, Self::T3, Self::Lognormal, Self::Outliers, Self::Bimodal, Self::Quantised];

    pub(crate) fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Normal | Self::Quantised => random.normal(),
            Self::T3 => t3(random),
            Self::Lognormal => slow_tail(random),
            Self::Outliers => random.normal() * if random.chance(0.1) { 5.0 } else { 1.0 },
            Self::Bimodal => bimodal(random),
        }
    }
}

fn t3(random: &mut Random) -> f64 {
    let squares: f64 = (0..3).map(|_| random.normal()).map(|z| z * z).sum();
    // Student's t with three degrees of freedom has variance three.
    random.normal() / (squares / 3.0).sqrt() / 3.0_f64.sqrt()
}

fn slow_tail(random: &mut Random) -> f64 {
    const SHAPE: f64 = 0.5;
    let square = SHAPE * SHAPE;
    let mean = libm::exp(0.5 * square);
    let deviation = mean * (libm::exp(square) - 1.0).sqrt();
    (mean - libm::exp(SHAPE * random.normal())) / deviation
}

fn bimodal(random: &mut Random) -> f64 {
    const SLOW: f64 = 0.3;
    const DISTANCE: f64 = 4.0;
    let mode = if random.chance(SLOW) { -DISTANCE } else { 0.0 };
    let deviation = (1.0 + SLOW * (1.0 - SLOW) * DISTANCE * DISTANCE).sqrt();
    (mode + DISTANCE * SLOW + random.normal()) / deviation
}
