//! tiobench's `tiotest`: threads that write and read, each its own file.
//!
//! After tiotest 0.3.3: a random phase counts what it moved. Versions of 2003 to 2023 counted the
//! whole file.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use drivelab_core::numbers::float;
use drivelab_core::record::Nature;
use drivelab_core::{Bytes, Invalid, invalid};
use rustix::fs::OFlags;

use crate::bench::{
    At as _, Bench, Buffer, CacheDrop, Content, Done, Laps, Measured, Stopwatch, Watch, merged,
    open_below, rate, suite_options,
};
use crate::plan::{Plan, named_alike, within};

suite_options! {
    /// The phases of `tiotest` and their sizes.
    Tiobench {
        /// Bytes of each thread's file (-f).
        size: Bytes = "10M",
        /// Threads (-t).
        threads: u32 = "4",
        /// Bytes in one write or read (-b).
        bs: Bytes = "4k",
        /// Random writes and reads of each thread (-r).
        random_ops: u32 = "1000",
        /// Files are opened with `O_SYNC` (-S), as by the Phoronix profile 1.2.
        osync: bool = "off",
        /// When the page cache is dropped: run, phases (-F of later versions) or never.
        drop: CacheDrop = "run",
    }
}

/// The phases in their order, and which of them write and are random.
const PHASES: [(&str, bool, bool); 4] = [
    ("write", true, false),
    ("random_write", true, true),
    ("read", false, false),
    ("random_read", false, true),
];
const MIB: f64 = 1_048_576.0;

impl Plan for Tiobench {
    fn set(&mut self, key: &str, text: &str) -> Result<bool, Invalid> {
        self.set_option(key, text)
    }

    fn check(&self) -> Result<(), Invalid> {
        within("threads", self.threads, [1, 1024])?;
        within("bs", self.bs, [Bytes::new(1), Bytes::mib(1)])?;
        within("random_ops", self.random_ops, [1, 1_000_000_000])?;
        if self.size < self.bs {
            return Err(invalid!("`size` {} is less than one block of {}", self.size, self.bs));
        }
        Ok(())
    }

    fn needs(&self, _: Bytes) -> Bytes {
        Bytes::new(self.size.get().saturating_mul(u64::from(self.threads)))
    }

    fn drop_when(&self) -> CacheDrop {
        self.drop
    }

    fn measures(&self) -> Vec<(String, Vec<String>)> {
        named_alike(PHASES.map(|(name, ..)| name))
    }

    fn run(&self, bench: &mut Bench<'_>) -> Done {
        let top = bench.workspace.fresh("files")?;
        let content = Content::new(&mut bench.rng(0));
        for (phase, (name, writes, random)) in PHASES.into_iter().enumerate() {
            bench.begin()?;
            debug_assert!(self.blocks() > 0, "checked with the options");
            let each = if random { u64::from(self.random_ops) } else { self.blocks() };
            let all = each * u64::from(self.threads);
            let watch = Watch::new(bench.control, name, all);
            let clock = Stopwatch::start();
            let lat = watch.threads(self.threads, |thread, laps| {
                // Drawn for each phase and thread: one more thread changes no other.
                let seed = (phase as u64) << 32 | u64::from(thread);
                let mut rng = bench.rng(seed);
                let blocks =
                    (0..each).map(|step| if random { rng.below(self.blocks()) } else { step });
                let path = PathBuf::from(format!("thread{thread}"));
                let flags = if self.osync { OFlags::SYNC } else { OFlags::empty() };
                // Opened in each phase, within the time, as in the original.
                let file = open_below(&top, &path, OFlags::RDWR | OFlags::CREATE | flags)?;
                let path = top.path().join(&path);
                if writes {
                    self.write(&file, &path, blocks, &content, laps)
                } else {
                    self.read(&file, &path, blocks, laps)
                }
            })?;
            let took = clock.stop();
            let moved = float(all * self.bs.get()) / MIB;
            let nature =
                if writes { Nature::Disk } else { bench.reading(self.needs(bench.memory)) };
            let figures = vec![rate(name, moved, took, "MiB/s")];
            bench.record(Measured { name, nature, figures, took, lat: merged(&lat) });
        }
        Ok(())
    }
}

impl Tiobench {
    fn blocks(&self) -> u64 {
        self.size.get() / self.bs.get()
    }

    fn block_bytes(&self) -> usize {
        usize::try_from(self.bs.get()).expect("at most 1 MiB")
    }

    fn write(
        &self,
        file: &File,
        path: &Path,
        blocks: impl Iterator<Item = u64>,
        content: &Content,
        laps: &mut Laps<'_>,
    ) -> Done {
        for block in blocks {
            let buffer = content.block(block, self.block_bytes());
            let at = block * self.bs.get();
            laps.time(|| file.write_all_at(buffer, at).at("write", path))?;
        }
        file.sync_all().at("sync", path)
    }

    fn read(
        &self,
        file: &File,
        path: &Path,
        blocks: impl Iterator<Item = u64>,
        laps: &mut Laps<'_>,
    ) -> Done {
        // Random blocks may repeat, as in the original.
        let mut buffer = Buffer::new(self.bs);
        for block in blocks {
            let at = block * self.bs.get();
            laps.time(|| file.read_exact_at(&mut buffer, at).at("read", path))?;
        }
        Ok(())
    }
}
