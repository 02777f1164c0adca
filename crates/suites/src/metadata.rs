//! A source tree that is unpacked, walked and removed.

use std::ffi::{CStr, OsStr};
use std::fs::{FileTimes, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use drivelab_core::numbers::float;
use drivelab_core::record::Nature;
use drivelab_core::{Bytes, Invalid};
use drivelab_files::Folder;
use rustix::fs::{AtFlags, FileType, StatxFlags};

use crate::bench::{
    At as _, Bench, CacheDrop, Content, Done, Entry, Laps, Measured, Stopwatch, Tree, Watch,
    each_name, make_below, open_folder, rate, suite_options, write_file,
};
use crate::plan::{Plan, measures, within};

suite_options! {
    /// Work on names more than on data.
    Metadata {
        /// Files of the tree; sizes are those of a source tree, 24 KiB on average.
        files: u32 = "20000",
        /// When the page cache is dropped: run, phases or never.
        drop: CacheDrop = "phases",
    }
}

/// tar writes records of 20 blocks of 512 bytes.
const CHUNK: usize = 10_240;
/// 2020-01-01: an archive gives its files times of the past.
const PACKED: Duration = Duration::from_secs(1_577_836_800);

impl Plan for Metadata {
    fn set(&mut self, key: &str, text: &str) -> Result<bool, Invalid> {
        self.set_option(key, text)
    }

    fn check(&self) -> Result<(), Invalid> {
        within("files", self.files, [1, 10_000_000])
    }

    fn needs(&self, _: Bytes) -> Bytes {
        // The mean of 24 KiB, and what blocks and folders add to it.
        Bytes::new(u64::from(self.files) * 32 * 1024)
    }

    fn drop_when(&self) -> CacheDrop {
        self.drop
    }

    fn measures(&self) -> Vec<(String, Vec<String>)> {
        ["unpack", "walk", "remove"].map(|name| measures(name, &["entries_per_s"])).to_vec()
    }

    fn run(&self, bench: &mut Bench<'_>) -> Done {
        let content = Content::new(&mut bench.rng(0));
        // Content and tree are drawn apart: one may change without the other.
        let tree = Tree::of_source(u64::from(self.files), &mut bench.rng(1));
        let top = bench.workspace.fresh("tree")?;
        let own =
            bench.workspace.folder().try_clone().at("open", bench.workspace.folder().path())?;
        phase(bench, &tree, ("unpack", Nature::JournalSync), |laps| {
            tree.entries
                .iter()
                .try_for_each(|entry| laps.time(|| unpack(entry, &top, &content)))?;
            sync(&top)
        })?;
        let walking = bench.looking_up();
        phase(bench, &tree, ("walk", walking), |laps| walk(&top, laps))?;
        phase(bench, &tree, ("remove", Nature::JournalSync), |laps| {
            remove(&own, Path::new("tree"), laps)?;
            sync(&own)
        })
    }
}

fn phase(
    bench: &mut Bench<'_>,
    tree: &Tree,
    (name, nature): (&str, Nature),
    work: impl FnOnce(&mut Laps<'_>) -> Done,
) -> Done {
    bench.begin()?;
    let entries = tree.entries.len() as u64;
    debug_assert!(entries > 0, "a rate needs something to count");
    let watch = Watch::new(bench.control, name, entries);
    let mut laps = watch.laps();
    let clock = Stopwatch::start();
    work(&mut laps)?;
    let took = clock.stop();
    let figures = vec![rate("entries_per_s", float(entries), took, "1/s")];
    let lat = laps.finish();
    bench.record(Measured { name, nature, figures, took, lat });
    Ok(())
}

fn sync(folder: &Folder) -> Done {
    rustix::fs::syncfs(open_folder(folder, Path::new(""))?).at("sync", folder.path())
}

/// As tar does: data, then time and mode of files.
fn unpack(entry: &Entry, top: &Folder, content: &Content) -> Done {
    // A folder comes before its files, as in an archive.
    let Some(bytes) = entry.bytes else { return make_below(top, &entry.path) };
    let file = write_file(top, &entry.path, bytes, CHUNK, content)?;
    let time = SystemTime::UNIX_EPOCH + PACKED;
    let times = FileTimes::new().set_accessed(time).set_modified(time);
    file.set_times(times).at_path("set the times of", || top.path().join(&entry.path))?;
    let mode = file.set_permissions(Permissions::from_mode(0o644));
    mode.at_path("set the mode of", || top.path().join(&entry.path))
}

/// Looks everything up, as `find -size` or `git status` do.
fn walk(top: &Folder, laps: &mut Laps<'_>) -> Done {
    let (flags, wanted) = (AtFlags::SYMLINK_NOFOLLOW, StatxFlags::ALL);
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let opened = open_folder(top, &folder)?;
        let path = top.path().join(&folder);
        each_name(
            &opened,
            || path.clone(),
            |name, _| {
                let about = laps.time(|| {
                    let about = rustix::fs::statx(&opened, name, flags, wanted);
                    about.at_path("look at", || join(&path, name))
                })?;
                // Folders are found by their mode, as by a program that needs the sizes anyway.
                if FileType::from_raw_mode(about.stx_mode.into()) == FileType::Directory {
                    folders.push(join(&folder, name));
                }
                Ok(())
            },
        )?;
    }
    Ok(())
}

fn remove(top: &Folder, folder: &Path, laps: &mut Laps<'_>) -> Done {
    let opened = open_folder(top, folder)?;
    each_name(
        &opened,
        || top.path().join(folder),
        |name, kind| {
            let path = join(folder, name);
            if kind == FileType::Directory {
                return remove(top, &path, laps);
            }
            laps.time(|| {
                let removed = rustix::fs::unlinkat(top, &path, AtFlags::empty());
                removed.at_path("remove", || top.path().join(&path))
            })
        },
    )?;
    // Its files first: only an empty folder can be removed.
    laps.time(|| {
        let removed = rustix::fs::unlinkat(top, folder, AtFlags::REMOVEDIR);
        removed.at_path("remove", || top.path().join(folder))
    })
}

fn join(folder: &Path, name: &CStr) -> PathBuf {
    folder.join(OsStr::from_bytes(name.to_bytes()))
}
