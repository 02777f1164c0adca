//! Random accesses to the large file, one in ten of which updates what it read.

use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use drivelab_core::record::Nature;

use super::bulk::open;
use super::{Bonnie, Ended};
use crate::bench::{At as _, Bench, Done, Laps, Stopwatch, Watch, merged};

/// One access in so many updates the chunk.
const UPDATE_ONE_IN: u64 = 10;

/// A chunk that is read, and perhaps written back.
#[derive(Debug, Clone, Copy)]
struct Ticket {
    chunk: u64,
    updates: bool,
}

impl Bonnie {
    pub(super) fn seek_phase(
        &self,
        bench: &mut Bench<'_>,
        path: &Path,
        chunks: u64,
        nature: Nature,
    ) -> Done {
        bench.begin()?;
        let mut rng = bench.rng(0);
        let tickets: Vec<Ticket> = (0..self.seeks)
            .map(|_| {
                // Both follow from one number of 31 bits, as in the original.
                let drawn = rng.below(1 << 31);
                Ticket { chunk: drawn % chunks, updates: drawn.is_multiple_of(UPDATE_ONE_IN) }
            })
            .collect();
        let watch = Watch::new(bench.control, "seeks", u64::from(self.seeks));
        let next = AtomicUsize::new(0);
        let clock = Stopwatch::start();
        let lat = watch.threads(self.seekers, |_, laps| {
            self.seek(path, || tickets.get(next.fetch_add(1, Ordering::Relaxed)).copied(), laps)
        })?;
        let took = clock.stop();
        let (name, amount) = ("seeks", f64::from(self.seeks));
        Ended { name, nature, amount, unit: "1/s", took, lat: merged(&lat) }.record(bench);
        Ok(())
    }

    /// What one thread does, until there are no more tickets.
    fn seek(&self, path: &Path, ticket: impl Fn() -> Option<Ticket>, laps: &mut Laps<'_>) -> Done {
        let file = open(path)?;
        let mut buffer = vec![0; usize::try_from(self.chunk.get()).expect("at most 1 MiB")];
        while let Some(Ticket { chunk, updates }) = ticket() {
            let at = chunk * self.chunk.get();
            laps.time(|| {
                file.read_exact_at(&mut buffer, at).at("read", path)?;
                if !updates {
                    return Ok(());
                }
                let place = usize::try_from(chunk % self.chunk.get()).expect("at most 1 MiB");
                buffer[place] = buffer[place].wrapping_sub(1);
                file.write_all_at(&buffer, at).at("write", path)?;
                if self.fsync { file.sync_all().at("sync", path) } else { Ok(()) }
            })?;
        }
        file.sync_all().at("sync", path)
    }
}
