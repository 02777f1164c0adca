//! The profile that diskspd repeats before the results: the work of each time span.

use std::collections::VecDeque;

use drivelab_core::record::{NOT_SET, Work, size};

use crate::found::seconds;
use crate::xml::Step;

/// Elements of a target and of a time span, and the keys that they are; others are no work.
const KEYS: [(&str, &str); 16] = [
    ("BlockSize", "bs"),
    ("BaseFileOffset", "offset"),
    ("RequestCount", "iodepth"),
    ("ThreadsPerFile", "threads_per_file"),
    ("ThreadCount", "threads"),
    ("WriteRatio", "write_ratio"),
    ("StrideSize", "stride"),
    ("InterlockedSequential", "interlocked"),
    ("ThreadStride", "thread_stride"),
    ("MaxFileSize", "max_size"),
    ("FileSize", "size"),
    ("Throughput", "rate"),
    ("IOPriority", "io_priority"),
    ("Pattern", "write_buffer"),
    ("Duration", "runtime"),
    ("Warmup", "ramp_time"),
];
/// Switches that decide which cache answers.
const CACHES: [&str; 5] =
    ["DisableOSCache", "DisableAllCache", "DisableLocalCache", "WriteThrough", "MemoryMappedIo"];
/// Time spans that are kept; a profile has one, seldom more.
const SPANS_MAX: usize = 1000;

/// True if the profile says that the cache of the system was not bypassed; false where there is no
/// profile.
pub(super) fn is_cached(work: &Work) -> bool {
    let caching = work.get("caching");
    caching.is_some_and(|it| !it.contains("DisableOSCache") && !it.contains("DisableAllCache"))
}

/// The time spans of a profile, in order.
#[derive(Debug, Default)]
pub(super) struct Profile {
    spans: VecDeque<Work>,
    current: Work,
    caches: Vec<&'static str>,
    is_random: bool,
}

impl Profile {
    /// Takes an element below `Profile`.
    pub(super) fn take(&mut self, path: &[&str], step: Step) {
        let text = match step {
            Step::Open => return,
            Step::Close(text) => text,
        };
        match path {
            ["TimeSpans", "TimeSpan"] => self.end(),
            ["TimeSpans", "TimeSpan", .., name] => self.set(name, text.trim()),
            _ => {}
        }
    }

    fn set(&mut self, name: &str, text: &str) {
        if name == "Random" || (name == "RandomAccess" && text == "true") {
            self.is_random = true;
        }
        if let Some(cache) = CACHES.iter().find(|it| **it == name && text == "true") {
            self.caches.push(cache);
        }
        let Some((_, key)) = KEYS.iter().find(|(known, _)| *known == name) else { return };
        let value = match *key {
            "runtime" | "ramp_time" => seconds(text),
            "bs" | "offset" | "stride" | "max_size" | "size" | "thread_stride" => size(text),
            // No number of threads for all targets together.
            "threads" if text == "0" => return,
            _ => text.to_owned(),
        };
        // Of several targets each has its own.
        let known = self.current.get(key).unwrap_or_default().to_owned();
        match known.as_str() {
            "" => self.current.set(key, value),
            // A profile may list thousands of targets: the first values show that they differ.
            known if known.split(", ").any(|one| one == value) || known.len() > 100 => {}
            known => self.current.set(key, format!("{known}, {value}")),
        }
    }

    fn end(&mut self) {
        let mut work = std::mem::take(&mut self.current);
        work.set("access", if self.is_random { "random" } else { "sequential" });
        self.caches.sort_unstable();
        self.caches.dedup();
        let caches = if self.caches.is_empty() { NOT_SET.into() } else { self.caches.join(", ") };
        work.set("caching", caches);
        (self.is_random, self.caches) = (false, Vec::new());
        // The results of further time spans are still read, with unknown work.
        if self.spans.len() < SPANS_MAX {
            self.spans.push_back(work);
        }
    }

    /// The work of the next result.
    pub(super) fn next(&mut self) -> Work {
        self.spans.pop_front().unwrap_or_default()
    }
}
