//! The phases on the large file.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use drivelab_core::numbers::float;
use drivelab_core::record::Nature;
use drivelab_files::Folder;
use rustix::fs::{Mode, OFlags};

use super::{Bonnie, Ended, RUN_BYTES};
use crate::bench::{At as _, Bench, Buffer, Done, Laps, Stopwatch, Watch, open_below};

/// The large file.
pub(super) const FILE: &str = "file";

impl Bonnie {
    pub(super) fn large_file(&self, bench: &mut Bench<'_>) -> Done {
        let folder = &bench.workspace.fresh("large")?;
        let path = folder.path().join(FILE);
        let size = self.file_size(bench.memory);
        debug_assert!(size.get().is_multiple_of(self.chunk.get()), "whole chunks");
        let chunks = size.get() / self.chunk.get();
        // The original reports KiB a second.
        let whole = float(size.get()) / 1024.0;
        let runs = self.putc.get() / RUN_BYTES;
        let bytes = float(runs * RUN_BYTES) / 1024.0;
        let of_file = Part {
            folder,
            path: &path,
            name: "",
            nature: Nature::Disk,
            steps: chunks,
            amount: whole,
        };
        let warm = bench.reading(size);
        if runs > 0 {
            let nature = Nature::Cpu;
            let putc = Part { name: "putc", nature, steps: runs, amount: bytes, ..of_file };
            putc.run(bench, create, |laps, file| each(laps, runs, || write_bytes(file, &path)))?;
        }
        let mut buffer = Buffer::new(self.chunk);
        Part { name: "put_block", ..of_file }.run(bench, create, |laps, file| {
            // Each chunk differs from the one before, by another byte.
            (0..chunks).try_for_each(|chunk| {
                touch(&mut buffer, chunk);
                laps.time(|| file.write_all(&buffer).at("write", &path))
            })
        })?;
        let back = -i64::try_from(self.chunk.get()).expect("at most 1 MiB");
        Part { name: "rewrite", ..of_file }.run(bench, open, |laps, file| {
            (0..chunks).try_for_each(|chunk| {
                laps.time(|| {
                    // Read, change and write back: the position moves back over the chunk that was
                    // read.
                    file.read_exact(&mut buffer).at("read", &path)?;
                    touch(&mut buffer, chunk);
                    file.seek(SeekFrom::Current(back)).at("seek in", &path)?;
                    file.write_all(&buffer).at("write", &path)
                })
            })
        })?;
        if runs > 0 {
            let nature = Nature::Cpu;
            let getc = Part { name: "getc", nature, steps: runs, amount: bytes, ..of_file };
            getc.run(bench, open, |laps, file| each(laps, runs, || read_bytes(file, &path)))?;
        }
        Part { name: "get_block", nature: warm, ..of_file }.run(bench, open, |laps, file| {
            each(laps, chunks, || file.read_exact(&mut buffer).at("read", &path))
        })?;
        if self.seeks > 0 {
            self.seek_phase(bench, folder, chunks, warm)?;
        }
        folder.remove_file(FILE).at("remove", &path)
    }
}

/// One phase on the file.
#[derive(Clone, Copy)]
struct Part<'a> {
    folder: &'a Folder,
    /// For messages.
    path: &'a Path,
    name: &'a str,
    nature: Nature,
    steps: u64,
    /// KiB that it moves.
    amount: f64,
}

impl Part<'_> {
    /// Opens the file, does the work, and syncs and closes the file within the time.
    fn run(
        self,
        bench: &mut Bench<'_>,
        open: fn(&Folder) -> Done<File>,
        work: impl FnOnce(&mut Laps<'_>, &mut File) -> Done,
    ) -> Done {
        let Part { folder, path, name, nature, steps, amount } = self;
        bench.begin()?;
        let watch = Watch::new(bench.control, name, steps);
        let mut laps = watch.laps();
        let mut file = open(folder)?;
        let clock = Stopwatch::start();
        work(&mut laps, &mut file)?;
        // As in the original: what is not on the disk yet counts too.
        file.sync_all().at("sync", path)?;
        drop(file);
        let took = clock.stop();
        let lat = laps.finish();
        Ended { name, nature, amount, unit: "KiB/s", took, lat }.record(bench);
        Ok(())
    }
}

fn each(laps: &mut Laps<'_>, steps: u64, mut step: impl FnMut() -> Done) -> Done {
    (0..steps).try_for_each(|_| laps.time(&mut step))
}

fn create(folder: &Folder) -> Done<File> {
    // Not truncated: the blocks of an earlier phase are freed before the time begins.
    let _ = folder.remove_file(FILE);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, FILE, flags, Mode::RUSR | Mode::WUSR);
    file.map(File::from).at_path("create", || folder.path().join(FILE))
}

pub(super) fn open(folder: &Folder) -> Done<File> {
    open_below(folder, Path::new(FILE), OFlags::RDWR)
}

fn touch(buffer: &mut [u8], chunk: u64) {
    debug_assert!(!buffer.is_empty(), "a chunk holds bytes");
    let at = usize::try_from(chunk % buffer.len() as u64).expect("below the length");
    buffer[at] = buffer[at].wrapping_add(1);
}

fn write_bytes(file: &mut File, path: &Path) -> Done {
    (0..RUN_BYTES).try_for_each(|number| {
        // One system call for each byte: that is what this phase measures.
        let byte = u8::try_from(number & 0x7f).expect("seven bits");
        file.write_all(&[byte]).at("write", path)
    })
}

fn read_bytes(file: &mut File, path: &Path) -> Done {
    (0..RUN_BYTES).try_for_each(|_| file.read_exact(&mut [0]).at("read", path))
}
