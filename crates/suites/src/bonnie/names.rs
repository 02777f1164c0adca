//! The phases on small files.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use drivelab_core::Rng;
use drivelab_core::record::Nature;
use rustix::fs::{AtFlags, Dir, Mode, OFlags};

use super::{Bonnie, Ended, Filling};
use crate::bench::{At as _, Bench, Done, Laps, Stopwatch, Watch, open_folder};

/// Most random characters of a name.
const EXTRA_MAX: u64 = 12;
const CHARACTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// A file and the folder it is in.
#[derive(Debug, Clone)]
struct Name {
    folder: usize,
    /// Relative to the top: with several folders the name of one comes first.
    path: String,
    bytes: u64,
}

/// The folders of one half of the phases.
struct Folders {
    path: PathBuf,
    top: OwnedFd,
    /// Open for syncs, where files are synced.
    synced: Vec<OwnedFd>,
}

impl Bonnie {
    /// In order first, then in random order.
    pub(super) fn small_files(&self, bench: &mut Bench<'_>) -> Done {
        for order in [Order::Sequential, Order::Random] {
            let mut rng = bench.rng(1 + order as u64);
            let mut names = self.names(order, &mut rng);
            let path = bench.place.fresh("files")?;
            let folders = self.make_folders(path)?;
            let [create, stat, delete] = order.phases();
            self.phase(bench, (create, Nature::JournalSync), |laps| {
                names
                    .iter()
                    .try_for_each(|name| laps.time(|| self.create(&folders, name, &names[0])))?;
                rustix::fs::sync();
                Ok(())
            })?;
            let looking_up = match self.n.filling {
                Filling::Bytes { max: 1.., min, .. } => {
                    let bytes = min.saturating_mul(u64::from(self.n.count));
                    bench.reading(drivelab_core::Bytes::new(bytes))
                }
                _ => bench.looking_up(),
            };
            if order == Order::Random {
                rng.shuffle(&mut names);
            }
            self.phase(bench, (stat, looking_up), |laps| match order {
                Order::Sequential => self.stat_folders(&folders, laps),
                Order::Random => names.iter().try_for_each(|name| {
                    laps.time(|| self.stat(&folders.top, &folders.path, &name.path))
                }),
            })?;
            if order == Order::Random {
                rng.shuffle(&mut names);
            }
            self.phase(bench, (delete, Nature::JournalSync), |laps| {
                match order {
                    Order::Sequential => self.delete_folders(&folders, laps)?,
                    Order::Random => names.iter().try_for_each(|name| {
                        laps.time(|| delete_one(&folders, &folders.top, &name.path, name.folder))
                    })?,
                }
                self.remove_folders(&folders)?;
                rustix::fs::sync();
                Ok(())
            })?;
        }
        Ok(())
    }

    fn phase(
        &self,
        bench: &mut Bench<'_>,
        (name, nature): (&str, Nature),
        work: impl FnOnce(&mut Laps<'_>) -> Done,
    ) -> Done {
        bench.begin()?;
        let watch = Watch::new(bench.control, name, u64::from(self.n.count));
        let mut laps = watch.laps();
        let clock = Stopwatch::start();
        work(&mut laps)?;
        let took = clock.stop();
        let (amount, lat) = (f64::from(self.n.count), laps.finish());
        Ended { name, nature, amount, unit: "1/s", took, lat }.record(bench);
        Ok(())
    }

    fn names(&self, order: Order, rng: &mut Rng) -> Vec<Name> {
        let folders = u64::from(self.n.folders);
        let name = |number: u32| {
            let extra: String = (0..rng.below(EXTRA_MAX + 1)).map(|_| character(rng)).collect();
            let folder = u64::from(number) * folders / u64::from(self.n.count);
            let file = match order {
                Order::Sequential => format!("{number:010x}{extra}"),
                Order::Random => format!("{extra}{number:010x}"),
            };
            let path = if folders > 1 { format!("{folder:05}/{file}") } else { file };
            let bytes = match self.n.filling {
                Filling::Bytes { min, max } => rng.between(min, max),
                Filling::HardLinks | Filling::SymbolicLinks => 0,
            };
            Name { folder: usize::try_from(folder).expect("at most 99,999"), path, bytes }
        };
        (0..self.n.count).map(name).collect()
    }

    fn make_folders(&self, path: PathBuf) -> Done<Folders> {
        let top = open_folder(&path)?;
        let below: Vec<PathBuf> = match self.n.folders {
            1 => vec![path.clone()],
            count => (0..count).map(|number| path.join(format!("{number:05}"))).collect(),
        };
        if self.n.folders > 1 {
            below.iter().try_for_each(|folder| std::fs::create_dir(folder).at("create", folder))?;
        }
        let opened = below.iter().filter(|_| self.fsync).map(|folder| open_folder(folder));
        Ok(Folders { top, synced: opened.collect::<Done<_>>()?, path })
    }

    fn create(&self, folders: &Folders, name: &Name, first: &Name) -> Done {
        let (dir, path) = (&folders.top, || folders.path.join(&name.path));
        let is_first = name.path == first.path;
        match self.n.filling {
            Filling::HardLinks if !is_first => {
                let flags = AtFlags::empty();
                rustix::fs::linkat(dir, &first.path, dir, &name.path, flags).at("link", &path())?;
            }
            Filling::SymbolicLinks if !is_first => {
                let up = if self.n.folders > 1 { "../" } else { "" };
                let target = format!("{up}{}", first.path);
                rustix::fs::symlinkat(&target, dir, &name.path).at("link", &path())?;
            }
            _ => self.create_file(folders, name)?,
        }
        match folders.synced.get(name.folder) {
            Some(folder) => rustix::fs::fsync(folder).at("sync the folder of", &path()),
            None => Ok(()),
        }
    }

    fn create_file(&self, folders: &Folders, name: &Name) -> Done {
        let path = || folders.path.join(&name.path);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&folders.top, &name.path, flags, mode);
        let file = file.at("create", &path())?;
        let mut left = name.bytes;
        if left > 0 {
            let zeros = vec![0; usize::try_from(self.n.chunk.get()).expect("at most 1 MiB")];
            while left > 0 {
                let length = left.min(zeros.len() as u64);
                let part = &zeros[..usize::try_from(length).expect("at most 1 MiB")];
                left -= rustix::io::write(&file, part).at("write", &path())? as u64;
            }
        }
        if self.fsync { rustix::fs::fsync(&file).at("sync", &path()) } else { Ok(()) }
    }

    /// Looks a file up, and reads it where it holds something.
    fn stat(&self, dir: &OwnedFd, folder: &Path, name: &str) -> Done {
        let path = || folder.join(name);
        let about = rustix::fs::statat(dir, name, AtFlags::empty()).at("look at", &path())?;
        if about.st_size == 0 {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(dir, name, flags, Mode::empty()).at("open", &path())?;
        let mut buffer = vec![0; usize::try_from(self.n.chunk.get()).expect("at most 1 MiB")];
        let mut left = u64::try_from(about.st_size).unwrap_or(0);
        while left > 0 {
            let length = left.min(buffer.len() as u64);
            let part = &mut buffer[..usize::try_from(length).expect("at most 1 MiB")];
            match rustix::io::read(&file, part).at("read", &path())? {
                0 => break,
                length => left -= length as u64,
            }
        }
        Ok(())
    }

    /// Every file of every folder, in the order of the file system.
    fn stat_folders(&self, folders: &Folders, laps: &mut Laps<'_>) -> Done {
        self.each_folder(folders, |_, dir, path| {
            each_name(dir, path, |name| laps.time(|| self.stat(dir, path, name)))
        })
    }

    fn delete_folders(&self, folders: &Folders, laps: &mut Laps<'_>) -> Done {
        self.each_folder(folders, |number, dir, path| {
            each_name(dir, path, |name| laps.time(|| delete_one(folders, dir, name, number)))
        })
    }

    fn each_folder(
        &self,
        folders: &Folders,
        mut work: impl FnMut(usize, &OwnedFd, &Path) -> Done,
    ) -> Done {
        if self.n.folders == 1 {
            return work(0, &folders.top, &folders.path);
        }
        (0..self.n.folders as usize).try_for_each(|number| {
            let path = folders.path.join(format!("{number:05}"));
            work(number, &open_folder(&path)?, &path)
        })
    }

    fn remove_folders(&self, folders: &Folders) -> Done {
        for number in (0..self.n.folders).filter(|_| self.n.folders > 1) {
            let path = folders.path.join(format!("{number:05}"));
            std::fs::remove_dir(&path).at("remove", &path)?;
        }
        std::fs::remove_dir(&folders.path).at("remove", &folders.path)
    }
}

fn delete_one(folders: &Folders, dir: &OwnedFd, name: &str, number: usize) -> Done {
    let path = || folders.path.join(name);
    rustix::fs::unlinkat(dir, name, AtFlags::empty()).at("remove", &path())?;
    match folders.synced.get(number) {
        Some(folder) => rustix::fs::fsync(folder).at("sync the folder of", &path()),
        None => Ok(()),
    }
}

fn each_name(dir: &OwnedFd, path: &Path, mut work: impl FnMut(&str) -> Done) -> Done {
    for entry in Dir::read_from(dir).at("read", path)? {
        let entry = entry.at("read", path)?;
        // Names of ours are text and do not begin with a dot.
        if let Ok(name) = entry.file_name().to_str()
            && !name.starts_with('.')
        {
            work(name)?;
        }
    }
    Ok(())
}

fn character(rng: &mut Rng) -> char {
    char::from(CHARACTERS[usize::try_from(rng.below(62)).expect("below 62")])
}

/// The order of names, in which files are made and deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Sequential,
    Random,
}

impl Order {
    fn phases(self) -> [&'static str; 3] {
        match self {
            Self::Sequential => ["seq_create", "seq_stat", "seq_del"],
            Self::Random => ["ran_create", "ran_stat", "ran_del"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivelab_core::config::Value as _;

    #[test]
    fn names_are_those_of_the_original_and_folders_are_filled_evenly() {
        let n = super::super::Files::read("1:100:50:4").unwrap();
        let plan = Bonnie { n, ..Bonnie::default() };
        let names = plan.names(Order::Sequential, &mut Rng::new(1));
        assert_eq!(names.len(), 1024);
        assert!(names[257].path.starts_with("00001/0000000101"), "{:?}", names[257]);
        let in_folder = |folder| names.iter().filter(|name| name.folder == folder).count();
        assert_eq!([0, 1, 2, 3].map(in_folder), [256; 4]);
        assert!(names.iter().all(|name| (50..=100).contains(&name.bytes)));
        let random = plan.names(Order::Random, &mut Rng::new(1));
        assert!(random[257].path.ends_with("0000000101"), "{:?}", random[257]);
    }
}
