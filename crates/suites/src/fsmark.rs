//! `fs_mark`: files created, written, synced and closed.
//!
//! After `fs_mark` 3.3. Rates of several threads are all files over the whole time, where the
//! original adds up the rates of threads that need not have run at the same time.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use drivelab_core::record::Nature;
use drivelab_core::{Bytes, Histogram, Rng};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::bench::{
    At as _, Bench, CacheDrop, Done, Laps, Measured, Stopwatch, Took, Watch, float, merged,
    open_folder, rate, suite_options,
};
use crate::plan::{Plan, named_alike, within};

suite_options! {
    /// What `fs_mark` does.
    FsMark {
        /// Files that each thread makes in a loop (-n).
        files: u32 = "1000",
        /// Bytes of each file (-s).
        size: Bytes = "50k",
        /// How files are synced (-S): 0 not, 1 each before it is closed, 2 `sync()` and one fsync
        /// at the end, 3 each at the end in reverse order, 4 as 3 after `sync()`, 5 each at the end
        /// in order, 6 as 5 after `sync()`.
        sync: u32 = "1",
        /// Threads, each with a folder of its own (-t).
        threads: u32 = "1",
        /// Subfolders over which files are spread, one after another (-D; 0: none).
        dirs: u32 = "0",
        /// Times that everything is repeated; the files of earlier loops stay (-L).
        loops: u32 = "1",
        /// Bytes in one write (-w).
        bs: Bytes = "16k",
        /// When the page cache is dropped: run, phases or never.
        drop: CacheDrop = "run",
    }
}

impl Plan for FsMark {
    fn set(&mut self, key: &str, text: &str) -> Result<bool, String> {
        self.set_option(key, text)
    }

    fn check(&self) -> Result<(), String> {
        within("files", self.files, [1, 1_000_000])?;
        within("sync", self.sync, [0, 6])?;
        within("threads", self.threads, [1, 64])?;
        within("dirs", self.dirs, [0, 256])?;
        within("loops", self.loops, [1, 10_000])?;
        within("bs", self.bs, [Bytes::new(1), Bytes::mib(1)])
    }

    fn needs(&self, _: Bytes) -> Bytes {
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
        let top = bench.place.fresh("files")?;
        let folders: Vec<PathBuf> =
            (0..self.threads).map(|thread| top.join(format!("{thread:02}"))).collect();
        for folder in &folders {
            std::fs::create_dir(folder).at("create", folder)?;
        }
        let files = u64::from(self.files) * u64::from(self.threads);
        for number in 1..=self.loops {
            bench.begin()?;
            let name = self.phase_name(number);
            let (took, lat) = self.one_loop(bench, &name, number, &folders)?;
            bench.record(Measured {
                name: &name,
                nature: if self.sync == 0 { Nature::PageCache } else { Nature::JournalSync },
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
        folders: &[PathBuf],
    ) -> Done<(Took, Histogram)> {
        let steps = u64::from(self.files) * u64::from(self.threads);
        let watch = Watch::new(bench.control, name, steps);
        let part = |thread: u32| bench.rng(u64::from(number) << 32 | u64::from(thread));
        let clock = Stopwatch::start();
        let lat = watch.threads(self.threads, |thread, laps| {
            self.write(&folders[thread as usize], part(thread), laps)
        })?;
        let took = clock.stop();
        Ok((took, merged(&lat)))
    }

    /// What one thread does in one loop.
    fn write(&self, folder: &Path, mut rng: Rng, laps: &mut Laps<'_>) -> Done {
        let zeros = vec![0; usize::try_from(self.bs.get()).expect("at most 1 MiB")];
        let dir = open_folder(folder)?;
        let mut names = Vec::with_capacity(self.files as usize);
        for number in 0..self.files {
            laps.time(|| {
                // As the original does, within the time and for each file.
                let name = self.name(number, &mut rng);
                if self.dirs > 0 {
                    match rustix::fs::mkdirat(&dir, &name[..2], Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error).at("create", &folder.join(&name[..2])),
                    }
                }
                self.one_file(&dir, folder, &name, &zeros)?;
                names.push(name);
                Ok(())
            })?;
        }
        if matches!(self.sync, 2 | 4 | 6) {
            rustix::fs::sync();
        }
        match self.sync {
            2 => names.truncate(1),
            3 | 4 => names.reverse(),
            5 | 6 => {}
            _ => names.clear(),
        }
        names.iter().try_for_each(|name| {
            laps.check()?;
            let path = || folder.join(name);
            let file = rustix::fs::openat(&dir, name, OFlags::RDONLY, Mode::empty());
            rustix::fs::fsync(file.at("open", &path())?).at("sync", &path())
        })
    }

    /// Creates, writes, perhaps syncs, and closes.
    fn one_file(&self, dir: &OwnedFd, folder: &Path, name: &str, zeros: &[u8]) -> Done {
        let path = || folder.join(name);
        let flags = OFlags::CREATE | OFlags::RDWR | OFlags::TRUNC | OFlags::CLOEXEC;
        let file = rustix::fs::openat(dir, name, flags, Mode::from_raw_mode(0o666));
        let file = file.at("create", &path())?;
        let mut left = usize::try_from(self.size.get()).unwrap_or(usize::MAX);
        while left > 0 {
            let length = left.min(zeros.len());
            left -= rustix::io::write(file.as_fd(), &zeros[..length]).at("write", &path())?;
        }
        if self.sync == 1 {
            rustix::fs::fsync(&file).at("sync", &path())?;
        }
        Ok(())
    }

    /// Sixteen characters of the time and twenty-four random ones, in a folder that is filled
    /// before the next one is begun.
    fn name(&self, number: u32, rng: &mut Rng) -> String {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let random: String = (0..24).map(|_| character(rng)).collect();
        let name = format!("{:~<16}{random}", format!("{:x}", since.as_secs()));
        match self.dirs {
            0 => name,
            dirs => format!(
                "{:02x}/{name}",
                u64::from(number) * u64::from(dirs) / u64::from(self.files)
            ),
        }
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
    fn names_are_those_of_the_original_and_fill_one_folder_after_another() {
        let plan = FsMark { files: 8, dirs: 4, ..FsMark::default() };
        let mut rng = Rng::new(1);
        let names: Vec<String> = (0..8).map(|number| plan.name(number, &mut rng)).collect();
        assert!(names.iter().all(|name| name.len() == 43 && name[2..3] == *"/"), "{names:?}");
        let folders: Vec<&str> = names.iter().map(|name| &name[..2]).collect();
        assert_eq!(folders, ["00", "00", "01", "01", "02", "02", "03", "03"]);
        assert_eq!(FsMark::default().name(0, &mut rng).len(), 40);
    }
}
