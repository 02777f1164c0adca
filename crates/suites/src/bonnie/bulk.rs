//! The phases on the large file.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use drivelab_core::record::Nature;
use drivelab_files::Folder;
use rustix::fs::{Mode, OFlags};

use super::{Bonnie, Ended, RUN_BYTES};
use crate::bench::{At as _, Bench, Buffer, Done, Laps, Stopwatch, Watch, float, open_below};

/// The large file.
pub(super) const FILE: &str = "file";

impl Bonnie {
    pub(super) fn large_file(&self, bench: &mut Bench<'_>) -> Done {
        let folder = &bench.place.fresh("large")?;
        let path = folder.path().join(FILE);
        let size = self.size(bench.memory);
        let chunks = size.get() / self.chunk.get();
        let whole = float(size.get()) / 1024.0;
        let runs = self.putc.get() / RUN_BYTES;
        let bytes = float(runs * RUN_BYTES) / 1024.0;
        let part =
            |name, nature, steps, amount| Part { folder, path: &path, name, nature, steps, amount };
        let warm = bench.reading(size);
        if runs > 0 {
            let putc = part("putc", Nature::Cpu, runs, bytes);
            putc.run(bench, create, |laps, file| each(laps, runs, || write_bytes(file, &path)))?;
        }
        let mut buffer = Buffer::new(self.chunk);
        part("put_block", Nature::Disk, chunks, whole).run(bench, create, |laps, file| {
            // Each chunk differs from the one before, by another byte.
            (0..chunks).try_for_each(|chunk| {
                touch(&mut buffer, chunk);
                laps.time(|| file.write_all(&buffer).at("write", &path))
            })
        })?;
        let back = -i64::try_from(self.chunk.get()).expect("at most 1 MiB");
        part("rewrite", Nature::Disk, chunks, whole).run(bench, open, |laps, file| {
            (0..chunks).try_for_each(|chunk| {
                laps.time(|| {
                    file.read_exact(&mut buffer).at("read", &path)?;
                    touch(&mut buffer, chunk);
                    file.seek(SeekFrom::Current(back)).at("seek in", &path)?;
                    file.write_all(&buffer).at("write", &path)
                })
            })
        })?;
        if runs > 0 {
            let getc = part("getc", Nature::Cpu, runs, bytes);
            getc.run(bench, open, |laps, file| each(laps, runs, || read_bytes(file, &path)))?;
        }
        part("get_block", warm, chunks, whole).run(bench, open, |laps, file| {
            each(laps, chunks, || file.read_exact(&mut buffer).at("read", &path))
        })?;
        if self.seeks > 0 {
            self.seek_phase(bench, folder, chunks, warm)?;
        }
        folder.remove_file(FILE).at("remove", &path)
    }
}

/// One phase on the file.
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
    let _ = folder.remove_file(FILE);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, FILE, flags, Mode::RUSR | Mode::WUSR);
    file.map(File::from).at_path("create", || folder.path().join(FILE))
}

pub(super) fn open(folder: &Folder) -> Done<File> {
    open_below(folder, Path::new(FILE), OFlags::RDWR)
}

fn touch(buffer: &mut [u8], chunk: u64) {
    let place = usize::try_from(chunk % buffer.len() as u64).expect("below the length");
    buffer[place] = buffer[place].wrapping_add(1);
}

fn write_bytes(file: &mut File, path: &Path) -> Done {
    (0..RUN_BYTES).try_for_each(|number| {
        let byte = u8::try_from(number & 0x7f).expect("seven bits");
        file.write_all(&[byte]).at("write", path)
    })
}

fn read_bytes(file: &mut File, path: &Path) -> Done {
    (0..RUN_BYTES).try_for_each(|_| file.read_exact(&mut [0]).at("read", path))
}
