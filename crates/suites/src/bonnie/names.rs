//! The phases on small files.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use drivelab_core::Control;
use drivelab_core::Rng;
use drivelab_core::record::Nature;
use drivelab_files::Folder;
use rustix::fs::{AtFlags, Mode, OFlags};

use super::{Bonnie, Ended, Filling};
use crate::bench::{
    At as _, Bench, Buffer, Done, Laps, Stopwatch, Watch, check, each_name, make_below, open_folder,
};

/// Most random characters of a name.
const EXTRA_MAX: u64 = 12;
const CHARACTERS: &[u8; 62] = b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// A file and the folder it is in.
#[derive(Debug, Clone)]
struct Name {
    folder: usize,
    /// Relative to the top: with several folders the name of one comes first. As the kernel takes
    /// it, which spares a copy within the time.
    path: CString,
    bytes: u64,
}

/// The folders of one half of the phases.
struct Folders {
    top: Folder,
    /// Open for syncs, where files are synced.
    synced: Vec<OwnedFd>,
}

impl Folders {
    /// Syncs the folder of a file, where files are synced.
    fn sync(&self, number: usize, path: &dyn Fn() -> PathBuf) -> Done {
        match self.synced.get(number) {
            Some(folder) => rustix::fs::fsync(folder).at_path("sync the folder of", path),
            None => Ok(()),
        }
    }
}

impl Bonnie {
    /// In order first, then in random order.
    pub(super) fn small_files(&self, bench: &mut Bench<'_>) -> Done {
        let own =
            bench.workspace.folder().try_clone().at("open", bench.workspace.folder().path())?;
        for order in [Order::Sequential, Order::Random] {
            // Each half begins with an empty folder and draws other numbers.
            let mut rng = bench.rng(1 + order as u64);
            let mut names = self.names(order, &mut rng);
            let folders = self.make_folders(bench.workspace.fresh("files")?)?;
            let [create, stat, delete] = order.phases();
            let buffer = &mut *Buffer::new(self.n.chunk);
            self.phase(bench, (create, Nature::JournalSync), |laps| {
                let control = laps.control();
                names.iter().try_for_each(|name| {
                    laps.time(|| self.create(&folders, [name, &names[0]], buffer, control))
                })?;
                // Within the time: what is not on the disk yet is part of the work.
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
            // Another order than that of creation, and below another than that of the lookups.
            if order == Order::Random {
                rng.shuffle(&mut names);
            }
            self.phase(bench, (stat, looking_up), |laps| match order {
                Order::Sequential => self.stat_folders(&folders, laps, buffer),
                Order::Random => {
                    let control = laps.control();
                    let (top, path) = (&folders.top, folders.top.path());
                    names.iter().try_for_each(|name| {
                        laps.time(|| stat_one(top, path, &name.path, buffer, control))
                    })
                }
            })?;
            if order == Order::Random {
                rng.shuffle(&mut names);
            }
            self.phase(bench, (delete, Nature::JournalSync), |laps| {
                match order {
                    Order::Sequential => self.delete_folders(&folders, laps)?,
                    Order::Random => {
                        names.iter().try_for_each(|name| {
                            let (dir, path) = (&folders.top, &name.path);
                            laps.time(|| delete_one(&folders, dir, path, name.folder))
                        })?;
                        (0..self.n.folders).try_for_each(|it| self.remove_folder(&folders, it))?;
                    }
                }
                // What is still open would be freed only after the sync, in the next phase.
                let path = folders.top.path().to_owned();
                drop(folders);
                rustix::fs::unlinkat(&own, "files", AtFlags::REMOVEDIR).at("remove", &path)?;
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
        let names = (0..self.n.count).map(|number| {
            let extra: String = (0..rng.below(EXTRA_MAX + 1)).map(|_| character(rng)).collect();
            // Evenly, in the order of the numbers: neighbours share a folder.
            let folder = u64::from(number) * folders / u64::from(self.n.count);
            let file = match order {
                Order::Sequential => format!("{number:010x}{extra}"),
                Order::Random => format!("{extra}{number:010x}"),
            };
            let path = if folders > 1 { format!("{folder:05}/{file}") } else { file };
            let path = CString::new(path).expect("letters, digits and a slash");
            let bytes = match self.n.filling {
                Filling::Bytes { min, max } => rng.between(min, max),
                Filling::HardLinks | Filling::SymbolicLinks => 0,
            };
            debug_assert!(folder < folders, "files are spread over all folders");
            Name { folder: usize::try_from(folder).expect("at most 99,999"), path, bytes }
        });
        names.collect()
    }

    fn make_folders(&self, top: Folder) -> Done<Folders> {
        let below: Vec<PathBuf> = match self.n.folders {
            1 => vec![PathBuf::new()],
            count => (0..count).map(|number| format!("{number:05}").into()).collect(),
        };
        if self.n.folders > 1 {
            below.iter().try_for_each(|folder| make_below(&top, folder))?;
        }
        let opened = below.iter().filter(|_| self.fsync).map(|folder| open_folder(&top, folder));
        Ok(Folders { synced: opened.collect::<Done<_>>()?, top })
    }

    fn create(
        &self,
        folders: &Folders,
        [name, first]: [&Name; 2],
        zeros: &[u8],
        control: Control<'_>,
    ) -> Done {
        let (dir, path) = (&folders.top, || join(folders.top.path(), &name.path));
        let is_first = name.path == first.path;
        match self.n.filling {
            // The first one is a file, to which all others are links.
            Filling::HardLinks if !is_first => {
                let flags = AtFlags::empty();
                rustix::fs::linkat(dir, &first.path, dir, &name.path, flags)
                    .at_path("link", path)?;
            }
            Filling::SymbolicLinks if !is_first => {
                let up = if self.n.folders > 1 { "../" } else { "" };
                let target = [up.as_bytes(), first.path.to_bytes()].concat();
                rustix::fs::symlinkat(&target, dir, &name.path).at_path("link", path)?;
            }
            _ => return self.create_file(folders, name, zeros, control),
        }
        folders.sync(name.folder, &path)
    }

    fn create_file(
        &self,
        folders: &Folders,
        name: &Name,
        zeros: &[u8],
        control: Control<'_>,
    ) -> Done {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = rustix::fs::openat(&folders.top, &name.path, flags, mode);
        let top = folders.top.path();
        let file = file.at_path("create", || join(top, &name.path))?;
        debug_assert!(!zeros.is_empty(), "a write moves bytes");
        let mut left = name.bytes;
        while left > 0 {
            check(control)?;
            let part = &zeros[..part_of(left, zeros.len())];
            let written = rustix::io::write(&file, part);
            left -= written.at_path("write", || join(top, &name.path))? as u64;
        }
        if self.fsync {
            rustix::fs::fsync(&file).at_path("sync", || join(top, &name.path))?;
        }
        // While the file is open, as in the original.
        folders.sync(name.folder, &|| join(top, &name.path))
    }

    /// Every file of every folder, in the order of the file system.
    fn stat_folders(&self, folders: &Folders, laps: &mut Laps<'_>, buffer: &mut [u8]) -> Done {
        let control = laps.control();
        self.each_folder(folders, |_, dir, path| {
            names_in(dir, path, |name| laps.time(|| stat_one(dir, path, name, buffer, control)))
        })
    }

    fn delete_folders(&self, folders: &Folders, laps: &mut Laps<'_>) -> Done {
        self.each_folder(folders, |number, dir, path| {
            // Names of NTFS move while others are deleted, so that one reading does not find all.
            let mut found = true;
            while std::mem::take(&mut found) {
                names_in(dir, path, |name| {
                    found = true;
                    laps.time(|| delete_one(folders, dir, name, number as usize))
                })?;
            }
            self.remove_folder(folders, number)
        })
    }

    fn each_folder(
        &self,
        folders: &Folders,
        mut work: impl FnMut(u32, BorrowedFd<'_>, &Path) -> Done,
    ) -> Done {
        if self.n.folders == 1 {
            return work(0, folders.top.as_fd(), folders.top.path());
        }
        (0..self.n.folders).try_for_each(|number| {
            let name = PathBuf::from(format!("{number:05}"));
            let folder = open_folder(&folders.top, &name)?;
            work(number, folder.as_fd(), &folders.top.path().join(name))
        })
    }

    /// Removes a folder below the top, where there are any.
    fn remove_folder(&self, folders: &Folders, number: u32) -> Done {
        if self.n.folders == 1 {
            return Ok(());
        }
        let name = format!("{number:05}");
        let removed = rustix::fs::unlinkat(&folders.top, &name, AtFlags::REMOVEDIR);
        removed.at_path("remove", || folders.top.path().join(name))
    }
}

fn join(folder: &Path, name: &CStr) -> PathBuf {
    folder.join(OsStr::from_bytes(name.to_bytes()))
}

/// Looks a file up, and reads it where it holds something.
fn stat_one(
    dir: impl AsFd,
    folder: &Path,
    name: &CStr,
    buffer: &mut [u8],
    control: Control<'_>,
) -> Done {
    let about = rustix::fs::statat(&dir, name, AtFlags::empty());
    let about = about.at_path("look at", || join(folder, name))?;
    // An empty file has nothing to read, and neither has a link to one.
    if about.st_size == 0 {
        return Ok(());
    }
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(dir, name, flags, Mode::empty());
    let file = file.at_path("open", || join(folder, name))?;
    let mut left = u64::try_from(about.st_size).unwrap_or(0);
    while left > 0 {
        check(control)?;
        let length = part_of(left, buffer.len());
        let read = rustix::io::read(&file, &mut buffer[..length]);
        match read.at_path("read", || join(folder, name))? {
            // Shorter than it was when it was looked at.
            0 => break,
            length => left -= length as u64,
        }
    }
    Ok(())
}

/// Returns the bytes of the next read or write, of those that are left.
fn part_of(left: u64, chunk: usize) -> usize {
    usize::try_from(left).map_or(chunk, |left| left.min(chunk))
}

fn delete_one(folders: &Folders, dir: impl AsFd, name: &CStr, number: usize) -> Done {
    let top = folders.top.path();
    let removed = rustix::fs::unlinkat(dir, name, AtFlags::empty());
    removed.at_path("remove", || join(top, name))?;
    folders.sync(number, &|| join(top, name))
}

/// Opens the folder as the original does, and gives its names.
fn names_in(dir: BorrowedFd<'_>, path: &Path, mut work: impl FnMut(&CStr) -> Done) -> Done {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(dir, ".", flags, Mode::empty()).at("read", path)?;
    each_name(folder, || path.to_owned(), |name, _| work(name))
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
    fn a_file_under_way_ends_with_the_suite() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("large"), [7; 100]).unwrap();
        let folder = std::fs::File::open(dir.path()).unwrap();
        let read = |is_stopped: bool| {
            let stop = std::sync::atomic::AtomicBool::new(is_stopped);
            let control = Control::silent(&stop);
            stat_one(&folder, dir.path(), c"large", &mut [0; 10], control)
        };
        read(false).unwrap();
        assert!(matches!(read(true), Err(crate::bench::Halt::Interrupted)));
    }

    #[test]
    fn names_are_those_of_the_original_and_folders_are_filled_evenly() {
        let n = super::super::Files::read("1:100:50:4").unwrap();
        let plan = Bonnie { n, ..Bonnie::default() };
        let names = plan.names(Order::Sequential, &mut Rng::new(1));
        assert_eq!(names.len(), 1024);
        assert!(names[257].path.to_bytes().starts_with(b"00001/0000000101"), "{:?}", names[257]);
        let in_folder = |folder| names.iter().filter(|name| name.folder == folder).count();
        assert_eq!([0, 1, 2, 3].map(in_folder), [256; 4]);
        assert!(names.iter().all(|name| (50..=100).contains(&name.bytes)));
        let random = plan.names(Order::Random, &mut Rng::new(1));
        assert!(random[257].path.to_bytes().ends_with(b"0000000101"), "{:?}", random[257]);
    }
}
