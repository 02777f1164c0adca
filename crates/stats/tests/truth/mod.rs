//! The known-truth grid: generated experiments, and what verdicts on them must achieve.

pub(crate) mod drift;
pub(crate) mod experiment;
pub(crate) mod noise;
pub(crate) mod random;
pub(crate) mod rates;

use drift::Drift;
use experiment::{Cell, MEI, RUN_SD};
use noise::Noise;

/// True effects: none, half the minimum effect, the minimum effect, twice that, and large.
pub(crate) const EFFECTS: [f64; 5] = [0.0, 0.5 * MEI, MEI, 2.0 * MEI, 0.10];
/// Numbers of blocks.
pub(crate) const BLOCKS: [usize; 4] = [6, 10, 20, 40];

/// Returns all 1,200 cells.
pub(crate) fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for noise in Noise::ALL {
        for drift in Drift::ALL {
            for unequal in [false, true] {
                for blocks in BLOCKS {
                    for effect in EFFECTS {
                        cells.push(Cell { effect, noise, drift, unequal, blocks, run_sd: RUN_SD });
                    }
                }
            }
        }
    }
    cells
}
