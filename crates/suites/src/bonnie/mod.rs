//! bonnie++: one large file written, rewritten, read and sought in, then many files created, looked
//! up and deleted, by names in order and in random order.
//!
//! After bonnie++ 2.00a, without its defects: the processor time of seeks is that of the process
//! and counted once, and files are spread evenly over folders.

mod bulk;
mod names;
mod seeks;
mod setup;

use std::collections::BTreeMap;

use drivelab_core::config::Value;
use drivelab_core::numbers::float;
use drivelab_core::record::{Better, Figure, Nature};
use drivelab_core::{Bytes, Histogram, Invalid, invalid};

use crate::bench::{Auto, Bench, CacheDrop, Done, Measured, Took, rate, suite_options};
use crate::plan::{Plan, named_alike, within};

suite_options! {
    /// The phases of bonnie++ and their sizes.
    Bonnie {
        /// Bytes of the large file (-s; auto: twice the memory, as in the original; 0: no large
        /// file).
        size: Auto<Bytes> = "auto",
        /// Bytes of one read or write of the large file.
        chunk: Bytes = "8k",
        /// Bytes written and read one by one (-f; 0: leave these phases out).
        putc: Bytes = "3M",
        /// Small files: N[:max[:min[:folders[:chunk]]]], N in units of 1024 files, max and min in
        /// bytes; max -1 makes hard links, -2 symbolic links (-n; 0: no small files).
        n: Files = "16",
        /// Random accesses to the large file.
        seeks: u32 = "8192",
        /// Threads that make them.
        seekers: u32 = "5",
        /// Sync each small file and its folder, and each updated chunk (-b).
        fsync: bool = "off",
        /// When the page cache is dropped: run, phases or never.
        drop: CacheDrop = "run",
    }
}

/// The kinds of small files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Filling {
    /// Regular files with this many bytes, drawn evenly.
    Bytes {
        /// At least.
        min: u64,
        /// At most.
        max: u64,
    },
    /// Hard links to the first one.
    HardLinks,
    /// Symbolic links to the first one.
    SymbolicLinks,
}

/// The small files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Files {
    /// Number of them.
    pub(crate) count: u32,
    pub(crate) filling: Filling,
    pub(crate) folders: u32,
    /// Bytes of one read or write.
    pub(crate) chunk: Bytes,
}

/// Bytes that one step of the phases that go byte by byte moves.
const RUN_BYTES: u64 = 8192;

/// Files in a unit of `-n`.
const UNIT: u32 = 1024;
/// Names of folders have five digits.
const FOLDERS_MAX: u32 = 99_999;

impl Value for Files {
    fn read(text: &str) -> Result<Self, Invalid> {
        let parts: Vec<&str> = text.split(':').collect();
        if parts.len() > 5 {
            return Err(invalid!("`{text}` has more than `N:max:min:folders:chunk`"));
        }
        let units = u32::read(parts[0])?;
        let count = units.checked_mul(UNIT).filter(|count| *count <= 1 << 30);
        let filling = match part(&parts, 1) {
            Some("-1") => Filling::HardLinks,
            Some("-2") => Filling::SymbolicLinks,
            _ => {
                let max = bytes(part(&parts, 1), Bytes::ZERO)?.get();
                let min = bytes(part(&parts, 2), Bytes::ZERO)?.get();
                if min > max {
                    return Err(invalid!("`{text}`: the least size is above the greatest"));
                }
                Filling::Bytes { min, max }
            }
        };
        // As in the original, 0 folders are the one that all files are in.
        let folders = part(&parts, 3).map_or(Ok(1), u32::read)?.max(1);
        within("folders", folders, [1, FOLDERS_MAX])?;
        let chunk = bytes(part(&parts, 4), Bytes::kib(8))?;
        within("chunk", chunk, [Bytes::new(1), Bytes::mib(1)])?;
        let count = count.ok_or_else(|| format!("`{text}`: {units} x 1024 files are too many"))?;
        Ok(Self { count, filling, folders, chunk })
    }
}

/// The part of that index, if it is given.
fn part<'a>(parts: &[&'a str], index: usize) -> Option<&'a str> {
    parts.get(index).copied().filter(|part| !part.is_empty())
}

fn bytes(part: Option<&str>, default: Bytes) -> Result<Bytes, Invalid> {
    part.map_or(Ok(default), Bytes::read)
}

impl Plan for Bonnie {
    fn set(&mut self, key: &str, text: &str) -> Result<bool, Invalid> {
        self.set_option(key, text)
    }

    fn check(&self) -> Result<(), Invalid> {
        within("chunk", self.chunk, [Bytes::new(256), Bytes::mib(1)])?;
        if !self.chunk.get().is_power_of_two() {
            return Err(invalid!("`chunk` is {}, not a power of two", self.chunk));
        }
        within("seeks", self.seeks, [0, 1_000_000_000])?;
        within("seekers", self.seekers, [1, 1000])?;
        if self.putc != Bytes::ZERO && self.putc.get() < RUN_BYTES {
            let least = Bytes::new(RUN_BYTES);
            return Err(invalid!(
                "`putc` is {}: at least {least}, or 0 to leave it out",
                self.putc
            ));
        }
        let size = self.size.0.unwrap_or(Bytes::gib(1));
        if size != Bytes::ZERO && (size < self.chunk || size < self.putc) {
            return Err(invalid!("`size` is {size}, less than `chunk` or `putc`"));
        }
        if size == Bytes::ZERO && self.n.count == 0 {
            return Err("with neither a large file nor small ones nothing is measured".into());
        }
        Ok(())
    }

    fn needs(&self, memory: Bytes) -> Bytes {
        let small = match self.n.filling {
            // Half of a block is lost in each on average.
            Filling::Bytes { min, max } => {
                let each = u64::midpoint(min, max).saturating_add(2048);
                each.saturating_mul(u64::from(self.n.count))
            }
            Filling::HardLinks | Filling::SymbolicLinks => 0,
        };
        // The large file is removed before the small ones are made.
        Bytes::new(self.file_size(memory).get().max(small))
    }

    fn drop_when(&self) -> CacheDrop {
        self.drop
    }

    fn measures(&self) -> Vec<(String, Vec<String>)> {
        let bytes = self.putc != Bytes::ZERO;
        // The first figure speaks for the suite.
        let large = [
            ("seeks", self.seeks > 0),
            ("put_block", true),
            ("rewrite", true),
            ("get_block", true),
            ("putc", bytes),
            ("getc", bytes),
        ];
        let large = large.iter().filter(|(_, there)| *there && self.size.0 != Some(Bytes::ZERO));
        let small = ["seq_create", "seq_stat", "seq_del", "ran_create", "ran_stat", "ran_del"];
        let small = small.iter().filter(|_| self.n.count > 0);
        let names = large.map(|(name, _)| name).chain(small).copied();
        let mut phases = named_alike(names);
        for (phase, figures) in &mut phases {
            figures.push(format!("{phase}_latency"));
        }
        phases
    }

    fn setup(&self, seed: u64, memory: Option<Bytes>) -> BTreeMap<String, String> {
        self.settings(seed, memory)
    }

    fn run(&self, bench: &mut Bench<'_>) -> Done {
        if self.file_size(bench.memory) != Bytes::ZERO {
            self.large_file(bench)?;
        }
        if self.n.count > 0 {
            self.small_files(bench)?;
        }
        Ok(())
    }
}

impl Bonnie {
    /// Whole chunks of the large file.
    fn file_size(&self, memory: Bytes) -> Bytes {
        debug_assert!(self.chunk.get().is_power_of_two(), "checked with the options");
        // Twice the memory, so that the page cache cannot answer the reads.
        let size = self.size.0.unwrap_or(Bytes::new(2 * memory.get())).get();
        Bytes::new(size / self.chunk.get() * self.chunk.get())
    }
}

/// One phase's figure under the name and in the unit of the original.
struct Ended<'a> {
    name: &'a str,
    nature: Nature,
    /// In `unit`.
    amount: f64,
    unit: &'a str,
    took: Took,
    lat: Histogram,
}

impl Ended<'_> {
    fn record(self, bench: &mut Bench<'_>) {
        let Ended { name, nature, amount, unit, took, lat } = self;
        let longest = float(lat.max().unwrap_or_default().ns()) / 1e3;
        let latency = Figure::new(format!("{name}_latency"), longest, Better::Less);
        let figures = vec![
            rate(name, amount, took, unit),
            Figure { unit: "us".into(), is_detail: true, ..latency },
        ];
        bench.record(Measured { name, nature, figures, took, lat });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_are_read_as_bonnie_does() {
        let check = |text: &str, expected: Result<(u32, Filling, u32, u64), &str>| {
            let found = Files::read(text);
            match expected {
                Ok((count, filling, folders, chunk)) => {
                    let chunk = Bytes::new(chunk);
                    assert_eq!(found, Ok(Files { count, filling, folders, chunk }), "{text}");
                }
                Err(words) => assert!(found.as_ref().unwrap_err().0.contains(words), "{found:?}"),
            }
        };
        let bytes = |min, max| Filling::Bytes { min, max };
        check("16", Ok((16_384, bytes(0, 0), 1, 8192)));
        check("2:4k:1024:3:512", Ok((2048, bytes(1024, 4096), 3, 512)));
        check("1:-1", Ok((1024, Filling::HardLinks, 1, 8192)));
        check("1:-2::4", Ok((1024, Filling::SymbolicLinks, 4, 8192)));
        check("1:0:0:0", Ok((1024, bytes(0, 0), 1, 8192)));
        check("1:1k:2k", Err("the least size is above the greatest"));
        check("1:1:1:100000", Err("not from 1 to 99999"));
        check("1:2:3:4:5:6", Err("more than"));
        check("4000000000", Err("too many"));
        check("x", Err("not a whole number"));
    }
}
