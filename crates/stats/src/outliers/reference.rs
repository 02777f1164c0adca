//! The distance of a disk from its peers by chance.
//!
//! Let L and S be the trimmed mean and the Winsorised deviation of m normal peers with mean X and
//! deviation s. The shape of the sample, u = ((L - X) / s, S / s), is independent of X and s (Basu
//! 1955: they are a complete sufficient statistic, and u does not depend on their parameters), and
//! so is one more disk Y. Of a given shape therefore
//!
//! ```text
//! P(Y > L + tS) = P((Y - X) / s > u1 + t u2) = T((u1 + t u2) / sqrt(1 + 1/m)),
//! ```
//!
//! with T the upper tail of Student's t with m - 1 degrees of freedom. The tail wanted is its mean
//! over shapes, which are drawn: only the shape is left to chance, so that tails of 1e-5 and less
//! are known to some percent from thousands of them, not millions. Without trimming u is (0, 1),
//! and this is the leave-one-out t, exactly. A median and a MAD have such a tail, too; it is so
//! heavy in small groups that they would find nothing.

use std::collections::BTreeMap;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::peers::{Peers, trimmed};
use crate::distribution::student;
use crate::numbers::float;

/// Values that are drawn for all shapes together: shapes of many peers vary little, and few do.
const VALUES: usize = 400_000;
/// Shapes, at least and at most.
const SHAPES: [usize; 2] = [400, 20_000];
/// Peers of a drawn shape, at most. Shapes of more peers vary less: theirs would give tails that
/// are smaller by at most a tenth at 1e-6.
const DRAWN_MAX: usize = 1000;
/// A reference is the same wherever it is made.
const SEED: u64 = 19_950_289;
/// Steps of a bisection: a critical value to a millionth.
const STEPS: u32 = 20;
/// Shapes of nearly the same deviation are taken together: one in this many of those below.
const TOGETHER: usize = 20;

/// Samples without their mean and deviation, that are alike: their share, the root mean square of
/// their centres, which are as often above as below zero, and their mean deviation.
#[derive(Debug, Clone, Copy)]
struct Shape {
    share: f64,
    centre: f64,
    deviation: f64,
}

/// The distribution of a disk's distance from a number of peers.
#[derive(Debug, Clone)]
pub(super) struct Reference {
    degrees: f64,
    /// Deviation of the difference between a disk and the mean of its peers.
    scale: f64,
    shapes: Vec<Shape>,
    mean_deviation: f64,
    /// Critical values that were found, by the bits of their p.
    criticals: BTreeMap<u64, f64>,
}

impl Reference {
    /// The reference of this many peers; at least two.
    pub(super) fn new(peers: usize) -> Self {
        assert!(peers >= 2, "one peer has no deviation");
        let shapes = match trimmed(peers) {
            0 => vec![Shape { share: 1.0, centre: 0.0, deviation: 1.0 }],
            _ => shapes(peers.min(DRAWN_MAX)),
        };
        Self {
            degrees: float(peers - 1),
            scale: libm::sqrt(1.0 + 1.0 / float(peers)),
            mean_deviation: shapes.iter().map(|it| it.share * it.deviation).sum(),
            shapes,
            criticals: BTreeMap::new(),
        }
    }

    /// Probability that a disk lies `beyond` deviations of its peers from their centre, or farther,
    /// on either side.
    pub(super) fn two_sided(&self, beyond: f64) -> f64 {
        let mut tails = 0.0;
        for shape in &self.shapes {
            let middle = beyond * shape.deviation;
            tails +=
                shape.share * (self.tail(middle - shape.centre) + self.tail(middle + shape.centre));
        }
        tails.min(1.0)
    }

    /// A bound below [`Self::two_sided`] that takes one tail: the tail is convex, so that its mean
    /// is at least the tail at the mean (Jensen).
    pub(super) fn two_sided_at_least(&self, beyond: f64) -> f64 {
        2.0 * self.tail(beyond * self.mean_deviation)
    }

    /// The number of deviations beyond which a disk lies with probability `p`.
    pub(super) fn critical(&mut self, p: f64) -> f64 {
        if let Some(known) = self.criticals.get(&p.to_bits()) {
            return *known;
        }
        let found = self.bisected(p);
        self.criticals.insert(p.to_bits(), found);
        found
    }

    fn bisected(&self, p: f64) -> f64 {
        let start = student::quantile(1.0 - p / 2.0, self.degrees);
        // Exact without trimming; with it tails are heavier, so the upper end is doubled until it
        // holds.
        let (mut low, mut high) = (0.0, start * self.scale / self.mean_deviation);
        while self.two_sided(high) > p {
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..STEPS {
            let middle = f64::midpoint(low, high);
            if self.two_sided(middle) > p { low = middle } else { high = middle }
        }
        high
    }

    fn tail(&self, distance: f64) -> f64 {
        student::upper_tail(distance / self.scale, self.degrees)
    }
}

/// Shapes of samples of this size, those with small deviations, which make the tail, one by one.
fn shapes(peers: usize) -> Vec<Shape> {
    let mut normal = Normal(Xoshiro256PlusPlus::seed_from_u64(SEED ^ peers as u64));
    let [least, most] = SHAPES;
    // The same work for any size: shapes of many peers vary little, and fewer are enough.
    let count = (VALUES / peers).clamp(least, most);
    let mut drawn: Vec<Peers> = (0..count).map(|_| shape(peers, &mut normal)).collect();
    drawn.sort_by(|a, b| a.deviation.total_cmp(&b.deviation));
    let (mut shapes, mut from) = (Vec::new(), 0);
    while from < count {
        let alike = &drawn[from..count.min(from + 1 + from / TOGETHER)];
        let (mut squares, mut deviations) = (0.0, 0.0);
        for peers in alike {
            squares += peers.centre * peers.centre;
            deviations += peers.deviation;
        }
        shapes.push(Shape {
            share: float(alike.len()) / float(count),
            centre: libm::sqrt(squares / float(alike.len())),
            deviation: deviations / float(alike.len()),
        });
        from += alike.len();
    }
    shapes
}

/// Centre and deviation of a sample whose mean is taken off and whose deviation is made 1.
fn shape(count: usize, normal: &mut Normal) -> Peers {
    let mut values = Vec::with_capacity(count + 1);
    // The polar pair gives two values a draw; an odd one at the end is dropped.
    while values.len() < count {
        values.extend(normal.draw());
    }
    values.truncate(count);
    let mean = values.iter().sum::<f64>() / float(count);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let deviation = libm::sqrt(squares / float(count - 1));
    let peers = Peers::of(values);
    Peers { centre: (peers.centre - mean) / deviation, deviation: peers.deviation / deviation }
}

/// Standard normal numbers, by Box and Muller.
struct Normal(Xoshiro256PlusPlus);

impl Normal {
    fn draw(&mut self) -> [f64; 2] {
        let radius = libm::sqrt(-2.0 * libm::log(self.uniform()));
        let (sine, cosine) = libm::sincos(2.0 * std::f64::consts::PI * self.uniform());
        [radius * sine, radius * cosine]
    }

    /// Uniform in (0, 1]: the logarithm of it exists.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_peers_that_are_not_trimmed_are_those_of_a_leave_one_out_t() {
        let reference = Reference::new(4);
        for beyond in [0.5, 2.0, 10.0, 60.0] {
            let exact = student::two_sided(beyond / libm::sqrt(1.25), 3.0);
            let found = reference.two_sided(beyond);
            assert!((found / exact - 1.0).abs() < 1e-9, "{beyond}: {found} {exact}");
        }
    }

    #[test]
    fn tails_are_those_that_are_counted() {
        let mut normal = Normal(Xoshiro256PlusPlus::seed_from_u64(41));
        for count in [9_usize, 14, 40] {
            let mut reference = Reference::new(count);
            let beyond = reference.critical(0.02);
            let trials = 20_000_u32;
            let mut farther = 0_u32;
            for _ in 0..trials {
                let peers = Peers::of((0..count).map(|_| normal.draw()[0]).collect());
                let distance = (normal.draw()[0] - peers.centre).abs() / peers.deviation;
                farther += u32::from(distance > beyond);
            }
            // 2 % of 20,000 are 400, of which the deviation is 20.
            assert!((340..=460).contains(&farther), "{count}: {farther} of {trials}");
            assert!(reference.two_sided_at_least(beyond) <= reference.two_sided(beyond));
            let range = reference.two_sided(beyond) / 0.02;
            assert!((range - 1.0).abs() < 1e-4, "{count}: {range}");
        }
    }
}
