//! A virus scanner's read of a whole tree, alone and during a copy on the same disk.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use drivelab_core::numbers::float;
use drivelab_core::record::{Figure, Nature};
use drivelab_core::{Bytes, Invalid};
use drivelab_files::Folder;
use rustix::fs::{FileType, OFlags};

use crate::bench::{
    Bench, Buffer, CacheDrop, Content, Done, Laps, Measured, Stopwatch, Took, Tree, Watch,
    copy_file, each_name, open_below, open_folder, rate, read_whole, suite_options,
};
use crate::plan::{Plan, measures, within};

suite_options! {
    /// Reads of a tree.
    Scan {
        /// Files of the tree; sizes are those of a source tree, 24 KiB on average.
        files: u32 = "20000",
        /// Bytes of one read.
        bs: Bytes = "64k",
        /// Files of 100 kB that are copied meanwhile, again and again; 0: scan alone.
        copy: u32 = "2000",
        /// When the page cache is dropped: run, phases or never.
        drop: CacheDrop = "phases",
    }
}

/// Of the files that are copied, as in the article.
const COPIED_BYTES: u64 = 100_000;
const COPY_CHUNK: Bytes = Bytes::kib(32);

impl Plan for Scan {
    fn set(&mut self, key: &str, text: &str) -> Result<bool, Invalid> {
        self.set_option(key, text)
    }

    fn check(&self) -> Result<(), Invalid> {
        within("files", self.files, [1, 10_000_000])?;
        within("bs", self.bs, [Bytes::new(1), Bytes::mib(1)])?;
        within("copy", self.copy, [0, 10_000_000])
    }

    fn needs(&self, _: Bytes) -> Bytes {
        // More than the mean of 24 KiB: files take whole blocks.
        let tree = u64::from(self.files) * 32 * 1024;
        Bytes::new(tree + 2 * COPIED_BYTES * u64::from(self.copy))
    }

    fn drop_when(&self) -> CacheDrop {
        self.drop
    }

    fn measures(&self) -> Vec<(String, Vec<String>)> {
        let figures = ["bytes_per_s", "files_per_s"];
        let mut phases = vec![measures("scan", &figures)];
        if self.copy > 0 {
            phases.push(measures("scan_beside_copy", &figures));
            phases.push(measures("copy_beside_scan", &figures[..1]));
        }
        phases
    }

    fn run(&self, bench: &mut Bench<'_>) -> Done {
        let content = Content::new(&mut bench.rng(0));
        let top = bench.workspace.fresh("tree")?;
        let tree = Tree::of_source(u64::from(self.files), &mut bench.rng(1));
        tree.make(bench.control, &top, &content)?;
        let bytes = Bytes::new(tree.bytes());
        bench.begin()?;
        let watch = Watch::new(bench.control, "scan", tree.files());
        let mut laps = watch.laps();
        let clock = Stopwatch::start();
        let read = self.scan(&top, &mut laps)?;
        let took = clock.stop();
        let (figures, lat) = (figures(tree.files(), read, took), laps.finish());
        let nature = bench.reading(bytes);
        bench.record(Measured { name: "scan", nature, figures, took, lat });
        if self.copy == 0 {
            return Ok(());
        }
        self.beside(bench, &top, &tree, &content)
    }
}

impl Scan {
    /// Scans while another thread copies; both rates are those until the scan ended.
    fn beside(&self, bench: &mut Bench<'_>, top: &Folder, tree: &Tree, content: &Content) -> Done {
        let (from, to) = (bench.workspace.fresh("from")?, bench.workspace.fresh("to")?);
        debug_assert!(self.copy > 0, "without files there is no copy");
        let copied = Tree::flat(u64::from(self.copy), COPIED_BYTES);
        copied.make(bench.control, &from, content)?;
        bench.begin()?;
        let (over, read, written) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
        let watch = Watch::new(bench.control, "scan_beside_copy", tree.files());
        let clock = Stopwatch::start();
        let lat = watch.threads(2, |number, laps| {
            if number == 0 {
                // The copy ends with the scan, also where that fails.
                let bytes = self.scan(top, laps);
                over.store(true, Ordering::Relaxed);
                read.store(bytes?, Ordering::Relaxed);
                return Ok(());
            }
            // Again and again over the same files: only the scan has an end.
            let mut buffer = Buffer::new(COPY_CHUNK);
            let files = copied.each_file().cycle();
            for (file, bytes) in files.take_while(|_| !over.load(Ordering::Relaxed)) {
                laps.time(|| copy_file([&from, &to], file, &mut buffer, &|| watch.check()))?;
                written.fetch_add(bytes, Ordering::Relaxed);
            }
            Ok(())
        })?;
        let took = clock.stop();
        let [scanned, beside] = <[_; 2]>::try_from(lat).expect("two threads");
        let nature = bench.reading(Bytes::new(tree.bytes()));
        let (name, of_scan) = ("scan_beside_copy", figures(tree.files(), read.into_inner(), took));
        bench.record(Measured { name, nature, figures: of_scan, took, lat: scanned });
        let of_copy = vec![rate("bytes_per_s", float(written.into_inner()), took, "")];
        let (name, nature) = ("copy_beside_scan", Nature::PageCache);
        bench.record(Measured { name, nature, figures: of_copy, took, lat: beside });
        Ok(())
    }

    /// Reads every file of a folder and of those in it, in the order of the file system, and
    /// returns their bytes.
    fn scan(&self, top: &Folder, laps: &mut Laps<'_>) -> Done<u64> {
        let mut buffer = Buffer::new(self.bs);
        let (mut bytes, mut folders) = (0, vec![PathBuf::new()]);
        // Depth first: the folder that was found last is read next.
        while let Some(folder) = folders.pop() {
            let opened = open_folder(top, &folder)?;
            each_name(
                &opened,
                || top.path().join(&folder),
                |name, kind| {
                    let path = folder.join(OsStr::from_bytes(name.to_bytes()));
                    if kind == FileType::Directory {
                        folders.push(path);
                        return Ok(());
                    }
                    bytes += laps.time(|| {
                        let mut file = open_below(top, &path, OFlags::RDONLY)?;
                        read_whole(&mut file, &mut buffer, || top.path().join(&path))
                    })?;
                    Ok(())
                },
            )?;
        }
        Ok(bytes)
    }
}

fn figures(files: u64, bytes: u64, took: Took) -> Vec<Figure> {
    vec![
        rate("bytes_per_s", float(bytes), took, ""),
        Figure { is_detail: true, ..rate("files_per_s", float(files), took, "1/s") },
    ]
}
