//! The work of a run, as keys and values: a metric of two runs is one metric only where they did
//! the same work.

mod own;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// The work of a run: fio's option names where fio has the option, else the tool's own names.
///
/// Values have one spelling each: sizes as [`Bytes`] prints them, counts as integers, switches as
/// `0` and `1`. Seeds, labels, targets and times of day are not work. A key that is missing is
/// unknown, not zero.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Work {
    keys: BTreeMap<String, String>,
}

/// Value of an option that limits or changes the work and is not given.
pub const NOT_SET: &str = "none";

/// Precedes the options of a suite: `suite.size`.
pub const SUITE: &str = "suite.";

/// The order in which keys are named; others follow by name.
const FIRST: [&str; 18] = [
    "suite",
    "command",
    "rw",
    "rwmixread",
    "bs",
    "iodepth",
    "numjobs",
    "clients",
    "threads",
    "concurrency",
    "ioengine",
    "direct",
    "sync",
    "fsync",
    "fdatasync",
    "size",
    "offset",
    "runtime",
];

impl Work {
    /// States a key; an empty value states nothing.
    pub fn set(&mut self, key: &str, value: impl fmt::Display) {
        let value = value.to_string();
        let value = value.trim();
        // A key without a value would count as known, and differ from a missing one.
        if !value.is_empty() {
            self.keys.insert(key.to_owned(), value.to_owned());
        }
    }

    /// Adds a key; see [`Self::set`].
    #[must_use]
    pub fn with(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.set(key, value);
        self
    }

    /// States a size in a tool's spelling: `8192`, `8k`, `8KiB`. What is not a size stays as it is.
    pub fn set_size(&mut self, key: &str, text: &str) {
        self.set(key, size(text));
    }

    /// States a switch.
    pub fn set_switch(&mut self, key: &str, is_on: bool) {
        self.set(key, u8::from(is_on));
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.keys.get(key).map(String::as_str)
    }

    /// Every key with its value, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.keys.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// True if nothing is known of the work.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Adds the keys of a part of the run, each as `PREFIX` and its name.
    pub fn add(&mut self, prefix: &str, part: &Self) {
        for (key, value) in part.iter() {
            self.set(&format!("{prefix}{key}"), value);
        }
    }
}

/// `rw=randread bs=4k`, in the order in which keys are named.
impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut keys: Vec<(&str, &str)> = self.iter().collect();
        keys.sort_by_key(|(key, _)| rank(key));
        for (index, (key, value)) in keys.into_iter().enumerate() {
            let blank = if index == 0 { "" } else { " " };
            write!(f, "{blank}{key}={value}")?;
        }
        Ok(())
    }
}

/// A size in the one spelling of [`Bytes`]; a text that is none is returned as it is.
pub fn size(text: &str) -> String {
    let text = text.trim();
    // `k` and `kB` are powers of two in the tools whose results are read.
    let unit = text
        .strip_suffix(['B', 'b'])
        .filter(|rest| rest.ends_with(['k', 'K', 'm', 'M', 'g', 'G', 't', 'T']));
    let read = unit.unwrap_or(text).parse::<Bytes>();
    read.map_or_else(|_| text.to_owned(), |bytes| bytes.to_string())
}

fn rank(key: &str) -> (usize, String) {
    let rank = FIRST.iter().position(|first| *first == short(key));
    (rank.unwrap_or(FIRST.len()), key.to_owned())
}

/// A key without the part of the run that it is about: `rw` of `log.rw`. The options of a suite
/// keep their prefix.
pub fn short(key: &str) -> &str {
    key.strip_prefix(scope(key)).unwrap_or(key)
}

/// The part of the run that a key is about, as the names of its metrics begin; empty for a key of
/// the whole run.
pub fn scope(key: &str) -> &str {
    let own = key.rfind(SUITE).filter(|at| key[at + SUITE.len()..].find(['.', '/']).is_none());
    let end = own.unwrap_or_else(|| key.rfind(['.', '/']).map_or(0, |at| at + 1));
    &key[..end]
}

/// A key in which runs differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkDifference {
    /// The key.
    pub key: String,
    /// The values of each arm, each once; none where no run of the arm states the key.
    pub values: Vec<Vec<String>>,
}

impl WorkDifference {
    /// True if runs of one arm differ.
    pub fn is_within(&self, arm: usize) -> bool {
        self.values[arm].len() > 1
    }

    /// True if two arms are known to differ: both state the key, and not alike.
    pub fn is_between(&self, (one, other): (usize, usize)) -> bool {
        let (one, other) = (&self.values[one], &self.values[other]);
        !one.is_empty() && !other.is_empty() && one != other
    }

    /// The values of an arm in words.
    pub fn shown(&self, arm: usize) -> String {
        match &self.values[arm][..] {
            [] => "not stated".to_owned(),
            values => values.join(" and "),
        }
    }
}

/// The keys in which runs differ, in one arm or between arms.
pub fn differences(arms: &[Vec<&Work>]) -> Vec<WorkDifference> {
    let mut found: BTreeMap<&str, Vec<Vec<String>>> = BTreeMap::new();
    for (arm, works) in arms.iter().enumerate() {
        for (key, value) in works.iter().flat_map(|work| work.iter()) {
            let values = found.entry(key).or_insert_with(|| vec![Vec::new(); arms.len()]);
            if !values[arm].iter().any(|known| known == value) {
                values[arm].push(value.to_owned());
            }
        }
    }
    let mut all = Vec::new();
    for (key, mut values) in found {
        for of_arm in &mut values {
            of_arm.sort_unstable();
        }
        if values.iter().any(|of_arm| of_arm.len() > 1 || *of_arm != values[0]) {
            all.push(WorkDifference { key: key.to_owned(), values });
        }
    }
    // The order of a fio command line, which readers know, and then by name.
    all.sort_by_key(|difference| rank(&difference.key));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_spelling() {
        let check = |text: &str, expected: &str| assert_eq!(size(text), expected, "{text}");
        check("4096", "4k");
        check("4k", "4k");
        check("4KiB", "4k");
        check("64KB", "64k");
        check("1GiB", "1G");
        check("8192b", "8192b");
        check("512", "512");
        check("4k/60:64k/40", "4k/60:64k/40");
    }

    #[test]
    fn keys_of_a_part_know_their_part() {
        let check = |key: &str, expected: (&str, &str)| {
            assert_eq!((scope(key), short(key)), expected, "{key}");
        };
        check("rw", ("", "rw"));
        check("log.rw", ("log.", "rw"));
        check("host.example/rw", ("host.example/", "rw"));
        check("suite.size", ("", "suite.size"));
        check("old/suite.size", ("old/", "suite.size"));
    }

    #[test]
    fn what_differs_is_named_with_the_values_of_each_arm() {
        let work = |rw: &str, bs: &str| Work::default().with("rw", rw).with("bs", bs);
        let (one, two) = (work("read", "4k"), work("randread", "4k"));
        let unknown = Work::default().with("bs", "64k");
        let found = differences(&[vec![&one, &one], vec![&two]]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].key.as_str(), found[0].shown(1)), ("rw", "randread".to_owned()));
        assert!(found[0].is_between((0, 1)));
        assert!(!found[0].is_within(0));
        let found = differences(&[vec![&one, &two], vec![&unknown]]);
        let keys: Vec<&str> = found.iter().map(|it| it.key.as_str()).collect();
        assert_eq!(keys, ["rw", "bs"]);
        assert!(found[0].is_within(0));
        assert!(!found[0].is_between((0, 1)), "an arm that does not state it differs in nothing");
        assert_eq!(found[0].shown(1), "not stated");
        assert_eq!(differences(&[vec![&one], vec![&one]]), []);
    }
}
