//! Five sets of files, each copied from one folder to another: many small files, a few large ones,
//! one very large.
//!
//! A copy has two ends: when the last file is closed, which is when a file manager says that it is
//! done, and when everything is on the disk.

use std::path::Path;

use drivelab_core::config::Value;
use drivelab_core::numbers::float;
use drivelab_core::record::{Figure, Nature};
use drivelab_core::{Bytes, Invalid, invalid};
use drivelab_files::Folder;

use crate::bench::{
    At as _, Bench, Buffer, CacheDrop, Content, Done, Measured, Stopwatch, Tree, Watch, Workspace,
    copy_file, has_space, open_folder, rate, suite_options,
};
use crate::plan::{Plan, measures, within};

suite_options! {
    /// Copies of sets of files.
    Copy {
        /// Sets to copy, joined by `+`: 100k, 1m, 10m, 100m, 1g (decimal sizes of their files).
        sets: Sets = "100k+1m+10m+100m+1g",
        /// Bytes of each set; a set has at least one file.
        size: Bytes = "1000000000",
        /// Bytes of one read and write.
        bs: Bytes = "32k",
        /// A second folder to copy to, such as one on another partition [default: the same].
        to: String = "",
        /// When the page cache is dropped: run, phases or never.
        drop: CacheDrop = "phases",
    }
}

/// Bytes of the files of each set.
const SETS: [(&str, u64); 5] = [
    ("100k", 100_000),
    ("1m", 1_000_000),
    ("10m", 10_000_000),
    ("100m", 100_000_000),
    ("1g", 1_000_000_000),
];

/// Some of the sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sets(Vec<(&'static str, u64)>);

impl Value for Sets {
    fn read(text: &str) -> Result<Self, Invalid> {
        let mut sets = Vec::new();
        for name in text.split('+') {
            let set = SETS.iter().find(|(known, _)| *known == name).ok_or_else(|| {
                let known = SETS.map(|(known, _)| known).join("`, `");
                format!("`{name}` is not a set; known: `{known}`")
            })?;
            if sets.contains(set) {
                return Err(invalid!("`{text}` names a set twice"));
            }
            sets.push(*set);
        }
        Ok(Self(sets))
    }
}

impl Plan for Copy {
    fn set(&mut self, key: &str, text: &str) -> Result<bool, Invalid> {
        self.set_option(key, text)
    }

    fn check(&self) -> Result<(), Invalid> {
        within("bs", self.bs, [Bytes::new(1), Bytes::mib(1)])?;
        within("size", self.size, [Bytes::new(1), Bytes::gib(16 << 10)])
    }

    /// One set at a time, in both folders.
    fn needs(&self, _: Bytes) -> Bytes {
        // A second folder is checked when it is entered.
        let copies = if self.to.is_empty() { 2 } else { 1 };
        Bytes::new(self.largest().saturating_mul(copies))
    }

    fn drop_when(&self) -> CacheDrop {
        self.drop
    }

    fn measures(&self) -> Vec<(String, Vec<String>)> {
        let sets = self.sets.0.iter().map(|(set, _)| format!("copy_{set}"));
        sets.map(|name| measures(&name, &["synced_bytes_per_s", "closed_bytes_per_s"])).collect()
    }

    fn run(&self, bench: &mut Bench<'_>) -> Done {
        let second = if self.to.is_empty() {
            None
        } else {
            let second = Workspace::enter(Path::new(&self.to))?;
            has_space(&second, Bytes::new(self.largest()))?;
            Some(second)
        };
        let content = Content::new(&mut bench.rng(0));
        for set in &self.sets.0 {
            let from = bench.workspace.fresh("from")?;
            let to = second.as_ref().unwrap_or(&bench.workspace).fresh("to")?;
            self.copy(bench, *set, [&from, &to], &content)?;
        }
        // The last set is removed before the other folder is left, as the earlier ones were.
        bench.workspace.fresh("from")?;
        second.map_or(Ok(()), Workspace::leave)?;
        Ok(())
    }
}

impl Copy {
    fn files(&self, bytes: u64) -> u64 {
        (self.size.get() / bytes).max(1)
    }

    fn largest(&self) -> u64 {
        let all = self.sets.0.iter().map(|(_, bytes)| bytes * self.files(*bytes));
        all.max().unwrap_or_default()
    }

    fn copy(
        &self,
        bench: &mut Bench<'_>,
        (set, bytes): (&str, u64),
        [from, to]: [&Folder; 2],
        content: &Content,
    ) -> Done {
        debug_assert!(from.path() != to.path(), "a copy has two folders");
        let tree = Tree::flat(self.files(bytes), bytes);
        tree.make(bench.control, from, content)?;
        bench.begin()?;
        let name = format!("copy_{set}");
        let watch = Watch::new(bench.control, &name, tree.files());
        let mut laps = watch.laps();
        let mut buffer = Buffer::new(self.bs);
        let clock = Stopwatch::start();
        for (file, _) in tree.each_file() {
            laps.time(|| copy_file([from, to], file, &mut buffer, &|| watch.check()))?;
        }
        // The clock goes on: the first end is that of a file manager, the second that of the disk.
        let closed = clock.stop();
        // All files at once, as a user waits for them who unmounts the disk.
        rustix::fs::syncfs(open_folder(to, Path::new(""))?).at("sync", to.path())?;
        let took = clock.stop();
        let copied = float(tree.bytes());
        let closed = rate("closed_bytes_per_s", copied, closed, "");
        let figures = vec![
            rate("synced_bytes_per_s", copied, took, ""),
            Figure { nature: Some(Nature::PageCache), ..closed },
        ];
        let lat = laps.finish();
        bench.record(Measured { name: &name, nature: Nature::Disk, figures, took, lat });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_the_article_s() {
        let copy = Copy::default();
        let counts = SETS.map(|(_, bytes)| copy.files(bytes));
        assert_eq!(counts, [10_000, 1000, 100, 10, 1]);
        assert_eq!(copy.needs(Bytes::ZERO), Bytes::new(2_000_000_000));
        assert!(Sets::read("1m+2m").unwrap_err().0.contains("`2m` is not a set"));
        assert!(Sets::read("1m+1m").unwrap_err().0.contains("twice"));
    }
}
