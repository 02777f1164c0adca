//! Values from the bottom of a picture up, with lines across at round ones.

use crate::page::html::escape;
use crate::ticks::step;

/// Room for the values at the left and the names below.
pub(crate) const LEFT: f64 = 84.0;
pub(crate) const RIGHT: f64 = 12.0;
pub(crate) const TOP: f64 = 10.0;
pub(crate) const BOTTOM: f64 = 26.0;

/// Size of a picture in its own units, and its lines across, at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) ticks_max: f64,
}

#[derive(Debug)]
pub(crate) struct Axis {
    frame: Frame,
    lo: f64,
    hi: f64,
    /// Equal factors are equally far apart; else equal differences are.
    is_logarithmic: bool,
}

/// From this factor between the largest value and the least on, a linear picture shows the least
/// ones on one line.
const FACTOR_MAX: f64 = 20.0;
/// A larger factor than this has no tick for each power of ten.
const DECADES_MAX: f64 = 12.0;

impl Axis {
    /// Holds all `values`.
    pub(crate) fn new(frame: Frame, values: impl Iterator<Item = f64> + Clone) -> Self {
        let lo = values.clone().fold(f64::INFINITY, f64::min);
        let hi = values.fold(f64::NEG_INFINITY, f64::max);
        // Where all values agree a flat line in the middle says so. Halves, because the distance of
        // the largest floats is no float.
        let edge = (0.16 * (hi / 2.0 - lo / 2.0)).max(0.01 * hi.abs()).max(1e-300);
        // No axis goes below nothing for the room at its edge.
        let least = if lo >= 0.0 { 0.0 } else { f64::MIN / 4.0 };
        let (lo, hi) = ((lo - edge).max(least), (hi + edge).min(f64::MAX / 4.0));
        Self { frame, lo, hi, is_logarithmic: false }
    }

    /// The same for values of arms that may differ by a large factor: logarithmic where they do.
    pub(crate) fn of_arms(frame: Frame, values: impl Iterator<Item = f64> + Clone) -> Self {
        let lo = values.clone().fold(f64::INFINITY, f64::min);
        let hi = values.clone().fold(f64::NEG_INFINITY, f64::max);
        let decades = libm::log10(hi) - libm::log10(lo);
        if lo <= 0.0 || hi < FACTOR_MAX * lo || decades.is_nan() || decades > DECADES_MAX {
            return Self::new(frame, values);
        }
        // As much of the height as at the edges of a linear axis.
        let edge = libm::exp(0.08 * libm::log(hi / lo));
        Self { frame, lo: lo / edge, hi: hi * edge, is_logarithmic: true }
    }

    pub(crate) fn is_logarithmic(&self) -> bool {
        self.is_logarithmic
    }

    /// The vertical position of a value.
    pub(crate) fn up(&self, value: f64) -> f64 {
        let share = if self.is_logarithmic {
            libm::log(value / self.lo) / libm::log(self.hi / self.lo)
        } else {
            (value - self.lo) / (self.hi - self.lo)
        };
        let share = share.clamp(0.0, 1.0);
        let height = self.frame.height;
        height - BOTTOM - (height - BOTTOM - TOP) * share
    }

    /// The lines across, each with its value as `show` writes it.
    pub(crate) fn lines(&self, show: impl Fn(f64) -> String) -> String {
        if self.is_logarithmic {
            let first = libm::ceil(libm::log10(self.lo));
            // `DECADES_MAX` and the edges: more powers are never inside.
            let powers = (0..=14_u8).map(|power| libm::exp10(first + f64::from(power)));
            let ticks = powers.take_while(|value| *value <= self.hi);
            return ticks.map(|value| self.line(value, &show(value))).collect();
        }
        let tick = step(self.hi - self.lo, self.frame.ticks_max);
        let mut value = libm::ceil(self.lo / tick) * tick;
        let mut svg = String::new();
        while value <= self.hi {
            svg += &self.line(value, &show(value));
            // A step below the last digit of a float would never end.
            if value + tick <= value {
                break;
            }
            value += tick;
        }
        svg
    }

    fn line(&self, value: f64, shown: &str) -> String {
        let at = self.up(value);
        format!(
            "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\"/>\
             <text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
            self.frame.width - RIGHT,
            LEFT - 6.0,
            at + 3.5,
            escape(shown),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame { width: 360.0, height: 230.0, ticks_max: 6.0 };

    #[test]
    fn values_that_differ_by_a_large_factor_are_told_apart() {
        let values = [120.0, 130.0, 37_000.0];
        let axis = Axis::of_arms(FRAME, values.into_iter());
        assert!(axis.is_logarithmic());
        let ups = values.map(|value| axis.up(value));
        assert!(ups[0] - ups[1] > 2.0 && ups[1] - ups[2] > 100.0, "{ups:?}");
        let lines = axis.lines(|value| format!("{value:.0}"));
        for tick in [">1000<", ">10000<"] {
            assert!(lines.contains(tick), "{tick}: {lines}");
        }
        assert!(!Axis::of_arms(FRAME, [100.0, 150.0].into_iter()).is_logarithmic());
        assert!(!Axis::of_arms(FRAME, [0.0, 150.0].into_iter()).is_logarithmic());
    }
}
