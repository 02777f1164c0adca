//! A matrix of short runs: every read share with every order, thread count and block size, on each
//! target alone and on all at once, as in controller comparisons.

mod cell;
mod cursor;
mod group;

pub use cell::Cell;
pub use cursor::Cursor;
pub use group::{Group, order, plural};

use serde::Serialize;

use crate::config::{ConfigError, Section, Value as _};
use crate::units::{Bytes, Span};
use crate::workload::{BlockSizes, WorkloadError};
use crate::{Invalid, JOBS_MAX, invalid};

/// The varied settings, and those that all cells share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Matrix {
    /// Title of the matrix.
    pub title: String,
    /// Files or devices.
    pub targets: Vec<String>,
    /// Measures all targets at the same time, too.
    pub together: bool,
    /// Shares of reads, in percent.
    pub read: Vec<u32>,
    /// Shares of random addresses, in percent: 0 is sequential.
    pub random: Vec<u32>,
    /// Threads on each target; sequential threads each have their own part of the region.
    pub threads: Vec<u32>,
    /// Block sizes.
    pub bs: Vec<BlockSizes>,
    /// Measured time of a cell.
    pub runtime: Span,
    /// Warm-up before it.
    pub ramp_time: Span,
    /// First byte of the region on each target.
    pub offset: Bytes,
    /// Size of the region; default: the rest of the target.
    pub size: Option<Bytes>,
    /// Bypasses the page cache.
    pub direct: bool,
    /// How often every cell is measured; each block has a different order of cells.
    pub blocks: u32,
    /// Seed of the order and of everything random.
    pub seed: u64,
    /// Cursors of sequential threads; figures show the first.
    #[serde(skip)]
    pub cursors: Vec<Cursor>,
    /// The only groups of cells; all if empty.
    #[serde(skip)]
    pub only: Vec<Group>,
}

/// The title, the targets and the number of blocks of a matrix.
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
    /// See [`Matrix::cursors`].
    pub cursors: Vec<Cursor>,
}

/// The matrix of the controller comparison of 2009 (alephnull.com/benchmarks/sata2009): 108 cells
/// of 20 s.
const READ: [u32; 3] = [100, 50, 0];
const RANDOM: [u32; 2] = [0, 100];
const THREADS: [u32; 2] = [1, 20];
const BLOCK_SIZES: [u64; 9] = [4, 8, 32, 64, 256, 1024, 4096, 8192, 65_536];

/// Maximum number of blocks, as in a study.
const BLOCKS_MAX: u32 = 10_000;
/// Maximum number of cells: at 20 s each they take three weeks.
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
            cursors: vec![Cursor::Own],
        };
        let matrix = Self::read(&mut section, named)?;
        section.finish()?;
        Ok(matrix)
    }

    /// Takes the varied and the shared settings out of a section; `named` comes from elsewhere.
    pub fn read(section: &mut Section, named: Named) -> Result<Self, ConfigError> {
        let Named { title, targets, blocks, seed, cursors } = named;
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
            cursors,
            only: Vec::new(),
        };
        let Some(message) = matrix.wrong() else { return Ok(matrix) };
        let hint = matrix.targets.is_empty().then(|| "add `targets = [\"PATH\", ...]`".to_owned());
        Err(ConfigError { hint, ..section.error(message) })
    }

    /// Number of cells, all blocks together.
    pub fn count(&self) -> u64 {
        let sequential = self.random.iter().filter(|random| **random == 0).count();
        let several = self.threads.iter().filter(|threads| **threads > 1).count();
        let others = self.cursors.len().saturating_sub(1) as u64;
        // A further cursor makes a difference only to several sequential threads.
        self.combinations(self.random.len(), self.threads.len())
            .saturating_add(self.combinations(sequential, several).saturating_mul(others))
    }

    /// Number of cells with so few orders and thread counts.
    fn combinations(&self, random: usize, threads: usize) -> u64 {
        let targets = self.targets.len() + usize::from(self.has_all());
        let lengths = [targets, self.read.len(), random, threads, self.bs.len()];
        lengths.iter().fold(u64::from(self.blocks), |product, length| {
            product.saturating_mul(u64::try_from(*length).unwrap_or(u64::MAX))
        })
    }

    /// The error if its counts are too large; nothing is allocated before.
    ///
    /// A matrix whose blocks were changed after it was read is checked again.
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
            format!("the lists and `blocks` give {cells} cells; at most {CELLS_MAX} are allowed")
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
        // A value that one cell refuses is refused by every cell with it; so try them all.
        self.cells().iter().find_map(|cell| Some(cell.workload(self).err()?.to_string()))
    }

    /// Cells that differ only in block size, target and cursor, in the order of the figures.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups = Vec::new();
        for &random in &self.random {
            for &threads in &self.threads {
                groups.extend(self.read.iter().map(|&read| Group { random, threads, read }));
            }
        }
        groups.retain(|group| self.only.is_empty() || self.only.contains(group));
        groups
    }

    /// True if all targets are also measured at once.
    pub fn has_all(&self) -> bool {
        self.together && self.targets.len() > 1
    }

    /// Every cell of a block; cells that differ in their target are adjacent.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for cursor in 0..self.cursors.len() {
            for group in self.groups() {
                // A single thread, or random addresses, would only repeat the cells of the first
                // cursor.
                if cursor > 0 && !group.has_cursors() {
                    continue;
                }
                for size in 0..self.bs.len() {
                    let targets = (0..self.targets.len()).map(Some);
                    let targets = targets.chain(self.has_all().then_some(None));
                    cells.extend(targets.map(|target| Cell { target, cursor, group, size }));
                }
            }
        }
        cells
    }

    /// The targets of a cell.
    pub fn targets(&self, cell: &Cell) -> &[String] {
        match cell.target {
            Some(target) => &self.targets[target..=target],
            None => &self.targets,
        }
    }
}

/// Reads a number of blocks: refused here, where its line is known.
fn blocks(text: &str) -> Result<u32, Invalid> {
    let blocks = u32::read(text)?;
    let fits = blocks <= BLOCKS_MAX;
    fits.then_some(blocks).ok_or_else(|| invalid!("{blocks} is not from 1 to {BLOCKS_MAX}"))
}

fn block(kib: u64) -> BlockSizes {
    BlockSizes::one(Bytes::kib(kib)).expect("a multiple of 512 below 1 GiB")
}

/// The reason to refuse a cell's options.
pub type CellError = WorkloadError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_matrix_of_the_comparison() {
        let targets = "targets = [\"a\", \"b\", \"c\", \"d\", \"e\"]\n";
        let matrix = Matrix::parse("m", targets).unwrap();
        let cells = matrix.cells();
        assert_eq!((cells.len(), matrix.count()), (648, 648));
        assert_eq!(cells.iter().filter(|cell| cell.target.is_none()).count(), 108);
        let mut names: Vec<String> = cells.iter().map(|cell| cell.words(&matrix)).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 648, "every cell once");
    }

    #[test]
    fn another_cursor_is_for_several_sequential_threads_and_groups_can_be_left_out() {
        let text = "targets = [\"a\"]\nblocks = 2\nbs = [\"4k\"]\n";
        let mut matrix = Matrix::parse("m", text).unwrap();
        matrix.cursors.push(Cursor::Shared);
        let shared: Vec<Cell> =
            matrix.cells().into_iter().filter(|cell| cell.cursor == 1).collect();
        assert_eq!(shared.len(), 3);
        assert!(shared.iter().all(|cell| (cell.group.random, cell.group.threads) == (0, 20)));
        assert_eq!((matrix.cells().len(), matrix.count()), (12 + 3, 2 * (12 + 3)));
        matrix.only = vec![Group { random: 0, threads: 20, read: 50 }];
        assert_eq!(matrix.cells().len(), 2);
        assert!(matrix.cells().iter().all(|cell| cell.group == matrix.only[0]));
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
