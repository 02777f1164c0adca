//! Random accesses to the large file, one in ten of which updates what it read.
//!
//! As in the original each thread takes its tickets from one pipe, a read of four bytes each, and
//! moves the file offset before it reads: where the page cache answers, these calls are the time.

use std::fs::File;
use std::io::{
    self, ErrorKind, PipeReader, PipeWriter, Read as _, Seek as _, SeekFrom, Write as _,
};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use drivelab_core::Rng;
use drivelab_core::record::Nature;
use drivelab_files::Folder;

use super::bulk::{FILE, open};
use super::{Bonnie, Ended};
use crate::bench::{At as _, Bench, Buffer, Done, Laps, Stopwatch, Watch, merged};

/// One access in this many updates the chunk.
const UPDATE_ONE_IN: u32 = 10;
/// Bytes of a ticket: a number of 31 bits, from which the chunk and the update follow.
const TICKET_BYTES: usize = 4;

/// The wait of the original before it hands out the tickets. All threads sleep at the pipe then,
/// and the kernel has begun to write back what the phase before left in memory.
const WAIT: Duration = Duration::from_secs(if cfg!(test) { 0 } else { 3 });
/// Between two looks whether the user asked to stop.
const SLICE: Duration = Duration::from_millis(100);

/// The file and the tickets of a thread.
struct Seeker {
    file: File,
    tickets: PipeReader,
}

impl Bonnie {
    pub(super) fn seek_phase(
        &self,
        bench: &mut Bench<'_>,
        folder: &Folder,
        chunks: u64,
        nature: Nature,
    ) -> Done {
        let path = &folder.path().join(FILE);
        bench.begin()?;
        let drawn = tickets(self.seeks, &mut bench.rng(0));
        debug_assert!(chunks > 0 && drawn.len() == self.seeks as usize * TICKET_BYTES);
        let (reader, writer) = io::pipe().at("make a pipe for", path)?;
        let seekers = (0..self.seekers).map(|_| {
            let tickets = reader.try_clone().at("make a pipe for", path)?;
            Ok(Mutex::new(Some(Seeker { file: open(folder)?, tickets })))
        });
        let seekers = seekers.collect::<Done<Vec<_>>>()?;
        // Only the threads hold it now: when all have ended, no writer waits for room in the pipe.
        drop(reader);
        let writer = Mutex::new(Some(writer));
        let watch = Watch::new(bench.control, "seeks", u64::from(self.seeks));
        let clock = OnceLock::new();
        let lat = watch.threads(self.seekers + 1, |number, laps| {
            if let Some(seeker) = seekers.get(number as usize) {
                return self.seek(take(seeker), path, chunks, laps);
            }
            // When all are handed out the original's main thread closes the file too, with a sync.
            let (file, writer) = (open(folder)?, take(&writer));
            for _ in 0..WAIT.as_millis() / SLICE.as_millis() {
                laps.check()?;
                std::thread::sleep(SLICE);
            }
            // The time begins with the tickets: all threads wait for them by now.
            clock.get_or_init(Stopwatch::start);
            hand_out(writer, &drawn, path)?;
            file.sync_all().at("sync", path)
        })?;
        let took = clock.get().expect("the last thread starts it first of all").stop();
        let (name, amount) = ("seeks", f64::from(self.seeks));
        Ended { name, nature, amount, unit: "1/s", took, lat: merged(&lat) }.record(bench);
        Ok(())
    }

    /// Carries out the accesses of one thread, until there are no more tickets.
    fn seek(&self, seeker: Seeker, path: &Path, chunks: u64, laps: &mut Laps<'_>) -> Done {
        let Seeker { mut file, mut tickets } = seeker;
        let mut buffer = Buffer::new(self.chunk);
        let mut ticket = [0; TICKET_BYTES];
        while next(&mut tickets, &mut ticket).at("read tickets for", path)? {
            let drawn = u32::from_ne_bytes(ticket);
            // Whole chunks, so that no access straddles two of them.
            let chunk = u64::from(drawn) % chunks;
            let at = SeekFrom::Start(chunk * self.chunk.get());
            laps.time(|| {
                file.seek(at).at("seek in", path)?;
                file.read_exact(&mut buffer).at("read", path)?;
                if !drawn.is_multiple_of(UPDATE_ONE_IN) {
                    return Ok(());
                }
                let byte = usize::try_from(chunk % self.chunk.get()).expect("at most 1 MiB");
                buffer[byte] = buffer[byte].wrapping_sub(1);
                file.seek(at).at("seek in", path)?;
                file.write_all(&buffer).at("write", path)?;
                if self.fsync { file.sync_all().at("sync", path) } else { Ok(()) }
            })?;
        }
        file.sync_all().at("sync", path)
    }
}

fn tickets(count: u32, rng: &mut Rng) -> Vec<u8> {
    let drawn = (0..count).map(|_| u32::try_from(rng.below(1 << 31)).expect("31 bits"));
    drawn.flat_map(u32::to_ne_bytes).collect()
}

fn take<T>(part: &Mutex<Option<T>>) -> T {
    let taken = part.lock().unwrap_or_else(PoisonError::into_inner).take();
    taken.expect("each thread takes its own part, once")
}

/// Writes all tickets in one call, and ends the threads by the end of the pipe.
fn hand_out(mut pipe: PipeWriter, tickets: &[u8], path: &Path) -> Done {
    match pipe.write_all(tickets) {
        // The threads failed, or the user asked to stop: they say why.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.at("write tickets for", path),
    }
}

/// Reads the next ticket; returns false after the last. A pipe is filled in pages, which hold whole
/// tickets, so that no thread reads part of one.
fn next(pipe: &mut PipeReader, ticket: &mut [u8; TICKET_BYTES]) -> io::Result<bool> {
    match pipe.read_exact(ticket) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| true),
    }
}
