//! A matrix of short runs: every read share with every order, thread count and block size, on each
//! target alone and on all at once, as controller comparisons are made.

mod cell;
mod cursor;
mod group;
mod result;

pub use cell::{Cell, order, plural};
pub use cursor::Cursor;
pub use group::Group;
pub use result::{CellFigures, CellResult};

use serde::{Deserialize, Serialize};

use crate::JOBS_MAX;
use crate::config::{ConfigError, Section, Value as _};
use crate::rng::Rng;
use crate::units::{Bytes, Span};
use crate::workload::{BlockSizes, WorkloadError};

/// What is varied, and what all cells share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matrix {
    /// What the matrix is called.
    pub title: String,
    /// Files or devices.
    pub targets: Vec<String>,
    /// Whether all targets are also measured at the same time.
    pub together: bool,
    /// Shares of reads, in percent.
    pub read: Vec<u32>,
    /// Shares of random addresses, in percent: 0 is sequential.
    pub random: Vec<u32>,
    /// Threads on each target; sequential ones each have a part of the region of their own.
    pub threads: Vec<u32>,
    /// Block sizes.
    pub bs: Vec<BlockSizes>,
    /// Measured time of a cell.
    pub runtime: Span,
    /// Warm-up before it.
    pub ramp_time: Span,
    /// First byte of the region on each target.
    pub offset: Bytes,
    /// Size of the region; the rest of the target where absent.
    pub size: Option<Bytes>,
    /// Past the page cache.
    pub direct: bool,
    /// How often every cell is measured; each time all cells come in another order.
    pub blocks: u32,
    /// Seed of the order and of everything random.
    pub seed: u64,
}

/// What a matrix is called, and what is measured how often.
#[derive(Debug, Clone)]
pub struct Named {
    /// See [`Matrix::title`].
    pub title: String,
    /// See [`Matrix::targets`].
    pub targets: Vec<String>,
    /// See [`Matrix::blocks`].
    pub blocks: u32,
    /// See [`Matrix::seed`].
    pub seed: u64,
}

/// The matrix of the controller comparison of 2009 (alephnull.com/benchmarks/sata2009): 108 cells
/// of 20 s.
const READ: [u32; 3] = [100, 50, 0];
const RANDOM: [u32; 2] = [0, 100];
const THREADS: [u32; 2] = [1, 20];
const BLOCK_SIZES: [u64; 9] = [4, 8, 32, 64, 256, 1024, 4096, 8192, 65_536];

/// Most blocks, as in a study.
const BLOCKS_MAX: u32 = 10_000;
/// Most cells: at 20 s each they take three weeks.
const CELLS_MAX: u64 = 100_000;

impl Matrix {
    /// Reads the matrix file `text`.
    pub fn parse(file: &str, text: &str) -> Result<Self, ConfigError> {
        let mut section = Section::parse(file, text)?;
        let named = Named {
            title: section.take("title")?.unwrap_or_else(|| "Test matrix".into()),
            targets: section.list("targets")?.unwrap_or_default(),
            blocks: section.take_with("blocks", blocks)?.unwrap_or(1),
            seed: section.take("seed")?.unwrap_or(1),
        };
        let matrix = Self::read(&mut section, named)?;
        section.finish()?;
        Ok(matrix)
    }

    /// Takes what is varied and what all cells share out of a section; `named` is said elsewhere.
    pub fn read(section: &mut Section, named: Named) -> Result<Self, ConfigError> {
        let Named { title, targets, blocks, seed } = named;
        let matrix = Self {
            title,
            targets,
            together: section.take("together")?.unwrap_or(true),
            read: section.list("read")?.unwrap_or_else(|| READ.to_vec()),
            random: section.list("random")?.unwrap_or_else(|| RANDOM.to_vec()),
            threads: section.list("threads")?.unwrap_or_else(|| THREADS.to_vec()),
            bs: match section.list("bs")? {
                Some(sizes) => sizes,
                None => BLOCK_SIZES.iter().map(|kib| block(*kib)).collect(),
            },
            runtime: section.take("runtime")?.unwrap_or(Span::from_secs(20)),
            ramp_time: section.take("ramp_time")?.unwrap_or_default(),
            offset: section.take("offset")?.unwrap_or_default(),
            size: section.take("size")?,
            direct: section.take("direct")?.unwrap_or(true),
            blocks,
            seed,
        };
        matrix.wrong().map_or(Ok(()), |message| Err(section.error(message)))?;
        Ok(matrix)
    }

    /// How many cells there are, all blocks together.
    pub fn count(&self) -> u64 {
        let targets = self.targets.len() + usize::from(self.together && self.targets.len() > 1);
        let lengths =
            [targets, self.read.len(), self.random.len(), self.threads.len(), self.bs.len()];
        let block = lengths.iter().fold(1, |product: u64, length| {
            product.saturating_mul(u64::try_from(*length).unwrap_or(u64::MAX))
        });
        block.saturating_mul(u64::from(self.blocks))
    }

    /// What is wrong with its counts; nothing is made of them before.
    ///
    /// A matrix whose blocks were changed after it was read is asked again.
    pub fn too_large(&self) -> Option<String> {
        if self.blocks > BLOCKS_MAX {
            return Some(format!("`blocks`: {} is not from 1 to {BLOCKS_MAX}", self.blocks));
        }
        if let Some(threads) =
            self.threads.iter().find(|threads| !(1..=JOBS_MAX).contains(*threads))
        {
            return Some(format!("`threads`: {threads} is not from 1 to {JOBS_MAX}"));
        }
        let cells = self.count();
        (cells > CELLS_MAX).then(|| {
            format!(
                "the lists and `blocks` give {cells} cells; at most {CELLS_MAX} are \
                              allowed"
            )
        })
    }

    fn wrong(&self) -> Option<String> {
        let lengths = [
            ("targets", self.targets.len()),
            ("read", self.read.len()),
            ("random", self.random.len()),
            ("threads", self.threads.len()),
            ("bs", self.bs.len()),
            ("blocks", self.blocks as usize),
        ];
        if let Some((key, _)) = lengths.iter().find(|(_, length)| *length == 0) {
            return Some(format!("`{key}` is empty: there is nothing to measure"));
        }
        if let Some(wrong) = self.too_large() {
            return Some(wrong);
        }
        // What one cell refuses another with the same value refuses too; so all are tried.
        self.block(0).iter().find_map(|cell| Some(cell.workload(self).err()?.to_string()))
    }

    /// Every cell in the order of measuring: whole blocks, each shuffled on its own.
    pub fn cells(&self) -> Vec<Cell> {
        (0..self.blocks).flat_map(|number| self.block(number)).collect()
    }

    fn block(&self, number: u32) -> Vec<Cell> {
        let mut cells = Vec::new();
        let singles = (0..self.targets.len()).map(Some);
        let all = (self.together && self.targets.len() > 1).then_some(None);
        for target in singles.chain(all) {
            for &read in &self.read {
                for &random in &self.random {
                    for &threads in &self.threads {
                        for bs in &self.bs {
                            let bs = bs.clone();
                            cells.push(Cell { block: number, target, read, random, threads, bs });
                        }
                    }
                }
            }
        }
        Rng::for_part(self.seed, u64::from(number)).shuffle(&mut cells);
        cells
    }

    /// How long all cells take at least.
    pub fn estimate(&self) -> Span {
        (self.runtime + self.ramp_time) * self.count()
    }

    /// The targets of a cell.
    pub fn targets(&self, cell: &Cell) -> &[String] {
        match cell.target {
            Some(target) => &self.targets[target..=target],
            None => &self.targets,
        }
    }

    /// Whether any cell writes.
    pub fn writes(&self) -> bool {
        self.read.iter().any(|share| *share < 100)
    }
}

/// Reads a number of blocks: refused here, where its line is known.
fn blocks(text: &str) -> Result<u32, String> {
    let blocks = u32::read(text)?;
    let fits = blocks <= BLOCKS_MAX;
    fits.then_some(blocks).ok_or_else(|| format!("{blocks} is not from 1 to {BLOCKS_MAX}"))
}

fn block(kib: u64) -> BlockSizes {
    BlockSizes::one(Bytes::kib(kib)).expect("a multiple of 512 below 1 GiB")
}

/// What a cell's options cannot be.
pub type CellError = WorkloadError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_matrix_of_the_comparison() {
        let targets = "targets = [\"a\", \"b\", \"c\", \"d\", \"e\"]\n";
        let matrix = Matrix::parse("m", targets).unwrap();
        let cells = matrix.cells();
        assert_eq!(cells.len(), 648);
        assert_eq!(matrix.estimate(), Span::from_secs(12_960));
        assert_eq!(cells.iter().filter(|cell| cell.target.is_none()).count(), 108);
        let mut keys: Vec<String> = cells.iter().map(|cell| cell.key(&matrix)).collect();
        assert!(!keys.is_sorted());
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 648, "every cell once");
    }

    #[test]
    fn blocks_hold_every_cell_in_orders_of_their_own() {
        let text = "targets = [\"a\"]\nblocks = 2\nbs = [\"4k\"]\n";
        let matrix = Matrix::parse("m", text).unwrap();
        let cells = matrix.cells();
        let (first, second) = cells.split_at(12);
        assert_eq!(second.len(), 12);
        let order = |cells: &[Cell]| -> Vec<(u32, u32, u32)> {
            cells.iter().map(|cell| (cell.read, cell.random, cell.threads)).collect()
        };
        let (mut one, mut other) = (order(first), order(second));
        assert_ne!(one, other);
        one.sort_unstable();
        other.sort_unstable();
        assert_eq!(one, other);
        assert_eq!(cells, matrix.cells());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let check = |text: &str, expected: &str| {
            let error = Matrix::parse("m", text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check("", "`targets` is empty");
        check("targets = [\"a\"]\nrandom = [130]", "`percentage_random`: 130");
        check("targets = [\"a\"]\nread = [101]", "rwmixread");
        check("targets = [\"a\"]\nthread = [1]", "unknown key `thread`");
        check("targets = [\"a\"]\nbs = [\"5\"]", "512");
    }

    #[test]
    fn cells_are_counted_before_they_are_made() {
        let check = |text: &str, expected: &str| {
            let error = Matrix::parse("m", &format!("targets = [\"a\"]\n{text}")).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        };
        check("blocks = 4000000000", "`blocks`");
        check("blocks = 10001", "`blocks`");
        check("threads = [2000]", "`threads`");
        let list = vec!["50"; 300].join(", ");
        let text = format!("read = [{list}]\nrandom = [{list}]\nthreads = [1]\nblocks = 1000");
        check(&text, "cells");
    }
}
