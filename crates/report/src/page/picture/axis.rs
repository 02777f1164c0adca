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
}

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
        Self { frame, lo: (lo - edge).max(least), hi: (hi + edge).min(f64::MAX / 4.0) }
    }

    /// The place of a value.
    pub(crate) fn up(&self, value: f64) -> f64 {
        let share = ((value - self.lo) / (self.hi - self.lo)).clamp(0.0, 1.0);
        let height = self.frame.height;
        height - BOTTOM - (height - BOTTOM - TOP) * share
    }

    /// The lines across, each with its value as `show` writes it.
    pub(crate) fn lines(&self, show: impl Fn(f64) -> String) -> String {
        let step = step(self.hi - self.lo, self.frame.ticks_max);
        let mut value = libm::ceil(self.lo / step) * step;
        let mut svg = String::new();
        while value <= self.hi {
            let at = self.up(value);
            svg += &format!(
                "<line class=\"grid\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"y\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
                self.frame.width - RIGHT,
                LEFT - 6.0,
                at + 3.5,
                escape(&show(value)),
            );
            // A step below the last digit of a float would never end.
            if value + step <= value {
                break;
            }
            value += step;
        }
        svg
    }
}
