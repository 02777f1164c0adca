//! `fs_mark`: files created, written, synced and closed.
//!
//! After `fs_mark` 3.3. Rates of several threads are all files over the whole time, where the
//! original adds up the rates of processes that need not have run at the same time.

use std::num::NonZeroU32;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use drivelab_core::Control;
use drivelab_core::numbers::float;
use drivelab_core::record::WrittenFiles;
use drivelab_core::{Bytes, Histogram, Invalid, Rng};
use drivelab_files::Folder;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::bench::{
    At as _, Bench, CacheDrop, Done, Laps, Measured, Stopwatch, Took, Watch, check, merged,
    open_folder, rate, suite_options,
};
use crate::plan::{Plan, named_alike, within};

suite_options! {
    /// The files of `fs_mark` and how they are synced.
    FsMark {
        /// Files that each thread makes in a loop (-n).
        files: u32 = "1000",
        /// Bytes of each file (-s).
        size: Bytes = "50k",
        /// How files are synced (-S): 0 not, 1 each before it is closed, 2 `sync()` and one fsync
        /// at the end, 3 each at the end in reverse order, 4 as 3 after `sync()`, 5 each at the end
        /// in order, 6 as 5 after `sync()`.
        sync: u32 = "1",
        /// Threads, all in the same folder (-t).
        threads: u32 = "1",
        /// Subfolders (-D; 0: none); without `per_dir` the next one is begun after 180 s.
        dirs: u32 = "0",
        /// Files that a thread makes in a subfolder before it goes to the next (-N; 0: by time).
        per_dir: u32 = "0",
        /// Times that everything is repeated; the files of earlier loops stay (-L).
        loops: u32 = "1",
        /// Bytes in one write (-w).
        bs: Bytes = "16k",
        /// When the page cache is dropped: run, phases or never.
        drop: CacheDrop = "run",
    }
}

/// The folder that all files are in.
const FILES: &str = "files";
/// Time after which the next subfolder is begun, where no number of files says so.
const DIR_TIME: Duration = Duration::from_secs(180);

impl Plan for FsMark {
    fn set(&mut self, key: &str, text: &str) -> Result<bool, Invalid> {
        self.set_option(key, text)
    }

    fn check(&self) -> Result<(), Invalid> {
        within("files", self.files, [1, 1_000_000])?;
        within("sync", self.sync, [0, 6])?;
        within("threads", self.threads, [1, 64])?;
        within("dirs", self.dirs, [0, 256])?;
        if self.dirs == 0 && self.per_dir > 0 {
            return Err("`per_dir` needs `dirs`, the number of subfolders".into());
        }
        within("loops", self.loops, [1, 10_000])?;
        within("bs", self.bs, [Bytes::new(1), Bytes::mib(1)])
    }

    fn needs(&self, _: Bytes) -> Bytes {
        // The files of all loops stay.
        let files = u64::from(self.files) * u64::from(self.threads) * u64::from(self.loops);
        // No file takes less than a block.
        Bytes::new(self.size.get().max(4096).saturating_mul(files))
    }

    fn drop_when(&self) -> CacheDrop {
        self.drop
    }

    fn measures(&self) -> Vec<(String, Vec<String>)> {
        let names: Vec<String> = (1..=self.loops).map(|number| self.phase_name(number)).collect();
        named_alike(names.iter().map(String::as_str))
    }

    fn run(&self, bench: &mut Bench<'_>) -> Done {
        let top = bench.workspace.fresh(FILES)?;
        let files = u64::from(self.files) * u64::from(self.threads);
        let written = if self.sync == 0 { WrittenFiles::NotSynced } else { WrittenFiles::Synced };
        for number in 1..=self.loops {
            bench.begin()?;
            let name = self.phase_name(number);
            let (took, lat) = self.one_loop(bench, &name, number, &top)?;
            bench.record(Measured {
                name: &name,
                nature: written.nature(),
                figures: vec![rate(&name, float(files), took, "1/s")],
                took,
                lat,
            });
        }
        Ok(())
    }
}

impl FsMark {
    /// As the original's table gives it, and with several loops the number of the loop.
    fn phase_name(&self, number: u32) -> String {
        let figure = format!("files_{}b", self.size.get());
        if self.loops == 1 { figure } else { format!("{figure}_loop{number}") }
    }

    fn one_loop(
        &self,
        bench: &Bench<'_>,
        name: &str,
        number: u32,
        top: &Folder,
    ) -> Done<(Took, Histogram)> {
        let steps = u64::from(self.files) * u64::from(self.threads);
        let watch = Watch::new(bench.control, name, steps);
        let clock = Stopwatch::start();
        let lat = watch.threads(self.threads, |thread, laps| {
            let rng = bench.rng(u64::from(number) << 32 | u64::from(thread));
            self.write([bench.workspace.folder(), top], rng, laps)
        })?;
        let took = clock.stop();
        Ok((took, merged(&lat)))
    }

    /// Carries out one loop of one thread.
    fn write(&self, [own, folder]: [&Folder; 2], mut rng: Rng, laps: &mut Laps<'_>) -> Done {
        let zeros = vec![0; usize::try_from(self.bs.get()).expect("at most 1 MiB")];
        let dir = open_folder(folder, Path::new(""))?;
        let mut subfolders = self.subfolders(&mut rng);
        // Names are kept for the syncs at the end; no allocation grows within the time.
        let mut names = Vec::with_capacity(self.files as usize);
        let control = laps.control();
        for _ in 0..self.files {
            laps.time(|| {
                let below = subfolders.as_mut().map(|subfolders| subfolders.next(Instant::now()));
                let file = name(below, &mut rng);
                // As the original does: for each file, within the time, its folder too.
                let (at, made): (BorrowedFd<'_>, _) = match below {
                    Some(_) => (dir.as_fd(), Path::new(&file[..2])),
                    None => (own.as_fd(), Path::new(FILES)),
                };
                match rustix::fs::mkdirat(at, made, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error).at("create", &folder.path().join(made)),
                }
                self.one_file(&dir, folder.path(), &file, &zeros, control)?;
                names.push(file);
                Ok(())
            })?;
        }
        if matches!(self.sync, 2 | 4 | 6) {
            rustix::fs::sync();
        }
        debug_assert_eq!(names.len(), self.files as usize, "one name a file");
        match self.sync {
            // As in the original: after `sync()` one fsync waits for all of them.
            2 => names.truncate(1),
            3 | 4 => names.reverse(),
            5 | 6 => {}
            _ => names.clear(),
        }
        names.iter().try_for_each(|name| {
            laps.check()?;
            let file = rustix::fs::openat(&dir, name, OFlags::RDONLY, Mode::empty());
            let file = file.at_path("open", || folder.path().join(name))?;
            rustix::fs::fsync(file).at_path("sync", || folder.path().join(name))
        })
    }

    /// Creates, writes, perhaps syncs, and closes.
    fn one_file(
        &self,
        dir: &OwnedFd,
        folder: &Path,
        name: &str,
        zeros: &[u8],
        control: Control<'_>,
    ) -> Done {
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::TRUNC | OFlags::CLOEXEC;
        let file = rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(0o666));
        let file = file.at_path("create", || folder.join(name))?;
        debug_assert!(!zeros.is_empty(), "a write moves bytes");
        let mut left = usize::try_from(self.size.get()).unwrap_or(usize::MAX);
        // An empty file has one write, of no bytes.
        loop {
            check(control)?;
            let length = left.min(zeros.len());
            let written = rustix::io::write(file.as_fd(), &zeros[..length]);
            left -= written.at_path("write", || folder.join(name))?;
            if left == 0 {
                break;
            }
        }
        if self.sync == 1 {
            rustix::fs::fsync(&file).at_path("sync", || folder.join(name))?;
        }
        Ok(())
    }

    /// The first subfolder of a thread is drawn; the original takes it from the clock.
    fn subfolders(&self, rng: &mut Rng) -> Option<Subfolders> {
        let count = NonZeroU32::new(self.dirs)?;
        let current = u32::try_from(rng.below(u64::from(count.get()))).expect("below `dirs`");
        let per_dir = NonZeroU32::new(self.per_dir);
        Some(Subfolders { count, current, per_dir, filled: 0, begun: Instant::now() })
    }
}

/// The subfolders of a thread, one after another.
#[derive(Debug)]
struct Subfolders {
    count: NonZeroU32,
    current: u32,
    /// Files in each; none where time decides.
    per_dir: Option<NonZeroU32>,
    filled: u32,
    begun: Instant,
}

impl Subfolders {
    /// The number of the one that the next file goes into.
    fn next(&mut self, now: Instant) -> u32 {
        // By number where one is given: time would make each run another work.
        let is_over = match self.per_dir {
            Some(files) => self.filled >= files.get(),
            None => now.saturating_duration_since(self.begun) > DIR_TIME,
        };
        if is_over {
            self.current = (self.current + 1) % self.count;
            (self.filled, self.begun) = (0, now);
        }
        self.filled += 1;
        debug_assert!(self.current < self.count.get(), "{self:?}");
        self.current
    }
}

/// Sixteen characters of the time and twenty-four random ones, in a subfolder where there are any.
fn name(subfolder: Option<u32>, rng: &mut Rng) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let random: String = (0..24).map(|_| character(rng)).collect();
    let name = format!("{:~<16}{random}", format!("{:x}", since.as_secs()));
    match subfolder {
        None => name,
        Some(number) => format!("{number:02x}/{name}"),
    }
}

/// A digit or a capital.
fn character(rng: &mut Rng) -> char {
    const CHARACTERS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char::from(CHARACTERS[usize::try_from(rng.below(36)).expect("below 36")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_original() {
        let mut rng = Rng::new(1);
        assert_eq!(name(None, &mut rng).len(), 40);
        let below = name(Some(31), &mut rng);
        assert!(below.starts_with("1f/") && below.len() == 43, "{below}");
    }

    #[test]
    fn subfolders_follow_one_another_by_files_or_by_time() {
        let mut rng = Rng::new(1);
        assert!(FsMark::default().subfolders(&mut rng).is_none());
        let of = |per_dir| FsMark { dirs: 3, per_dir, ..FsMark::default() };
        let mut filled = of(2).subfolders(&mut Rng::new(1)).unwrap();
        let (first, now) = (filled.current, Instant::now());
        let folders: Vec<u32> = (0..8).map(|_| filled.next(now)).collect();
        let expected = [0, 0, 1, 1, 2, 2, 0, 0].map(|step| (first + step) % 3);
        assert_eq!(folders, expected);
        let mut timed = of(0).subfolders(&mut Rng::new(1)).unwrap();
        let at = |seconds| timed.begun + Duration::from_secs(seconds);
        let moments = [0, 180, 181, 361, 362].map(at);
        let folders = moments.map(|now| (timed.next(now) + 3 - first) % 3);
        assert_eq!(folders, [0, 0, 1, 1, 2]);
    }
}
