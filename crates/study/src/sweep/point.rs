//! The points of a sweep: the same ones on every machine, whichever shard makes them.

use drivelab_core::{Rng, hypercube};

use super::sobol::Sobol;
use super::{Design, Sweep};

/// The part of a sweep's seed that draws its points, separate from those of its runs.
const POINTS_PART: u64 = u64::MAX;

/// One point.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Its number, from 0.
    pub number: u32,
    /// The value of each parameter, in their order.
    pub values: Vec<String>,
    /// The specimen of the drive: a quantile for each number that the profile leaves open.
    pub quantiles: Vec<f64>,
    /// Seed of the run.
    pub seed: u64,
}

/// All points.
#[derive(Debug)]
pub struct Points<'a> {
    sweep: &'a Sweep,
    rows: Coordinates,
}

#[derive(Debug)]
enum Coordinates {
    Sobol(Sobol),
    /// One row a point.
    Rows(Vec<Vec<f64>>),
}

impl<'a> Points<'a> {
    /// The points of `sweep` on a drive whose profile leaves this many numbers open.
    pub fn new(sweep: &'a Sweep, unknowns: usize) -> Self {
        let drawn = if sweep.draws_specimens { unknowns } else { 0 };
        let seed = Rng::for_part(sweep.seed, POINTS_PART).bits();
        let listed = sweep.parameters.len();
        let rows = match sweep.design {
            Design::Sobol => Coordinates::Sobol(Sobol::new(listed + drawn, seed)),
            Design::LatinHypercube => {
                Coordinates::Rows(hypercube(seed, sweep.points, listed + drawn))
            }
            Design::Grid => Coordinates::Rows(hypercube(seed, sweep.points, drawn)),
        };
        Self { sweep, rows }
    }

    /// The number of points.
    pub fn len(&self) -> u32 {
        self.sweep.points
    }

    /// True if there is none: a sweep has at least one.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The point with this number, below [`Points::len`].
    pub fn point(&self, number: u32) -> Point {
        debug_assert!(number < self.len());
        let mut shares = match &self.rows {
            Coordinates::Sobol(sobol) => sobol.point(number),
            Coordinates::Rows(rows) => rows[number as usize].clone(),
        };
        let parameters = &self.sweep.parameters;
        let (values, quantiles) = if self.sweep.design == Design::Grid {
            (self.cell(number), shares)
        } else {
            let quantiles = shares.split_off(parameters.len());
            (parameters.iter().zip(&shares).map(|(it, share)| it.at(*share)).collect(), quantiles)
        };
        let seed = Rng::for_part(self.sweep.seed, u64::from(number)).bits();
        Point { number, values, quantiles, seed }
    }

    /// The values of a point of a grid; the last parameter changes first.
    fn cell(&self, number: u32) -> Vec<String> {
        let mut rest = number as usize;
        let mut values = Vec::new();
        for parameter in self.sweep.parameters.iter().rev() {
            let count = parameter.count().expect("a grid has lists alone");
            // The middle of the share: rounding cannot lead to a neighbour.
            #[expect(clippy::cast_precision_loss, reason = "a list is short")]
            let share = ((rest % count) as f64 + 0.5) / count as f64;
            values.push(parameter.at(share));
            rest /= count;
        }
        values.reverse();
        values
    }
}
