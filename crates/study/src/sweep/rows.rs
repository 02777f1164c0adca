//! The stored rows of a sweep: a line for each point, with a key of everything its figures depend
//! on.
//!
//! A row belongs to its point only where its key is the one that the file, the drive and the
//! version of drivelab give now. So a sweep can be resumed after any interruption, in other shards
//! than it began with, and after a change of its file that leaves a point as it was.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use drivelab_core::record::{Flaw, JobRecord};
use drivelab_core::{Invalid, Refusal, hexadecimal, invalid};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Point, Sweep};
use crate::keep::{AtPath as _, Journal, Owner, Seal, make_folder, read};
use drivelab_core::Control;

/// Prefix and suffix of the name of a file of rows.
const BEGIN: &str = "rows-";
const END: &str = ".jsonl";
/// Digits of a key: 128 bits.
const KEY_DIGITS: usize = 32;

/// The figures of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Requests a second.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Latency from the time that a request was due.
    pub lat_mean_ns: f64,
    /// Its median.
    pub lat_p50_ns: f64,
    /// Its 99th percentile.
    pub lat_p99_ns: f64,
}

impl Figures {
    /// Their names.
    pub const NAMES: [&'static str; 5] =
        ["iops", "bytes_per_s", "lat_mean_ns", "lat_p50_ns", "lat_p99_ns"];

    /// The figures of a run.
    #[expect(clippy::cast_precision_loss, reason = "latencies are far below 2^52 ns")]
    pub fn of(total: &JobRecord) -> Self {
        Self {
            iops: total.iops,
            bytes_per_s: total.bytes_per_s,
            lat_mean_ns: total.lat_ns.mean as f64,
            lat_p50_ns: total.lat_ns.p50 as f64,
            lat_p99_ns: total.lat_ns.p99 as f64,
        }
    }

    /// The figure of this name, one of [`Figures::NAMES`].
    pub fn get(&self, name: &str) -> f64 {
        match name {
            "iops" => self.iops,
            "bytes_per_s" => self.bytes_per_s,
            "lat_mean_ns" => self.lat_mean_ns,
            "lat_p50_ns" => self.lat_p50_ns,
            _ => self.lat_p99_ns,
        }
    }

    pub(super) fn name(text: &str) -> Result<&'static str, Invalid> {
        let found = Self::NAMES.into_iter().find(|name| *name == text);
        found.ok_or_else(|| invalid!("unknown figure `{text}`: use {}", Self::NAMES.join(", ")))
    }
}

/// A stored point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its number.
    pub point: u32,
    /// The hash of all that its figures depend on.
    pub key: String,
    /// The value of each parameter.
    pub parameters: BTreeMap<String, String>,
    /// The numbers of its drive that the profile leaves open.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unknowns: BTreeMap<String, f64>,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// Why the figures are not what they claim to be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flaws: Vec<Flaw>,
}

impl Row {
    fn line(&self) -> String {
        serde_json::to_string(self).expect("a row is numbers and words")
    }
}

/// Adds a part to the hash with its length, so that two lists of parts never hash alike.
fn add(hasher: &mut Sha256, part: &str) {
    hasher.update((part.len() as u64).to_le_bytes());
    hasher.update(part);
}

impl Sweep {
    /// The key of a point on a drive that is `model`: the [`digest`] of words that differ wherever
    /// the drive does. Every row is compared with its key, so that the words are hashed once.
    pub fn key(&self, point: &Point, model: &str) -> String {
        let mut hasher = Sha256::new();
        add(&mut hasher, env!("CARGO_PKG_VERSION"));
        add(&mut hasher, model);
        for (key, value) in self.settings(point) {
            add(&mut hasher, key);
            add(&mut hasher, &value);
        }
        for (option, value) in self.load(point).entries() {
            add(&mut hasher, option);
            add(&mut hasher, &value);
        }
        // Bits, because two numbers may have the same rounded text.
        let bits = point.quantiles.iter().map(|share| format!("{:016x}", share.to_bits()));
        add(&mut hasher, &bits.collect::<String>());
        add(&mut hasher, &point.seed.to_string());
        hexadecimal(&hasher.finalize())[..KEY_DIGITS].to_owned()
    }
}

/// The rows of a folder, and the file that new ones go to.
#[derive(Debug)]
pub struct Rows {
    folder: PathBuf,
    journal: Journal,
}

/// The rows of a folder.
#[derive(Debug, Default)]
pub struct Kept {
    /// By point.
    pub rows: BTreeMap<u32, Row>,
    /// Lines that are damaged, or of another sweep.
    pub foreign: usize,
}

impl Rows {
    /// Opens the rows in `folder`; new ones go to the file `name`, which no other process has open.
    ///
    /// # Errors
    /// The file holds something else.
    pub fn open(folder: &Path, name: &str) -> Result<Self, Refusal> {
        let mut journal = Journal::open(&make_folder(folder)?, name)?;
        // Finds the end of the last whole line, behind which rows are appended.
        let lines = journal.lines()?;
        let mut ended = lines.iter().filter(|line| line.ended).peekable();
        // A damaged row is made again; where all are none, the file is not ours.
        if ended.peek().is_some() && !ended.any(|line| owner().check(&line.text) == Seal::Whole) {
            let path = journal.path().display();
            return Err(Refusal::request(format!("no line of `{path}` is a row of a sweep"))
                .hint("remove the file if nothing needs it, or name another folder: --out DIR"));
        }
        Ok(Self { folder: folder.to_owned(), journal })
    }

    /// Their folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds rows; they are on the disk when this returns.
    pub fn append(&mut self, rows: &[Row], control: &Control<'_>) -> Result<(), Refusal> {
        let mut lines = Vec::with_capacity(rows.len());
        for row in rows {
            lines.push(owner().seal(&row.line()));
        }
        self.journal.append(&lines.join("\n"), control)
    }
}

impl Kept {
    /// The rows in the files `rows-*.jsonl` of `folder` of the points whose keys are `key`.
    pub fn read(folder: &Path, key: impl Fn(u32) -> Option<String>) -> Result<Self, Refusal> {
        let mut kept = Self::default();
        for path in files(folder)? {
            let text = read::bytes(&path, read::JOURNAL)?.unwrap_or_default();
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                kept.add(line, &key);
            }
        }
        Ok(kept)
    }

    fn add(&mut self, line: &[u8], key: impl Fn(u32) -> Option<String>) {
        // A last line without its end was cut off: its point is made again.
        let Some(line) = line.strip_suffix(b"\n") else { return };
        let whole = owner().check(line) == Seal::Whole;
        let row = serde_json::from_slice::<Row>(line).ok().filter(|_| whole);
        match row.filter(|row| key(row.point).as_ref() == Some(&row.key)) {
            Some(row) => {
                self.rows.insert(row.point, row);
            }
            None => self.foreign += 1,
        }
    }

    /// The rows as lines, by point: the same bytes whichever shards made them.
    pub fn lines(&self) -> String {
        self.rows.values().map(|row| row.line() + "\n").collect()
    }

    /// The hash of the lines.
    pub fn sha256(&self) -> String {
        hexadecimal(&Sha256::digest(self.lines()))
    }
}

/// The hash of a text.
pub fn digest(text: &str) -> String {
    hexadecimal(&Sha256::digest(text))
}

/// All rows have one owner: the key of a row states what it belongs to.
fn owner() -> Owner {
    Owner::of(&[b"drivelab.sweep/1"])
}

/// The files of rows in a folder, by name.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.at_path("list", folder)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let name = entry.at_path("list", folder)?.file_name();
        let is_rows =
            name.to_str().is_some_and(|name| name.starts_with(BEGIN) && name.ends_with(END));
        files.extend(is_rows.then(|| folder.join(name)));
    }
    // The order of a folder differs between file systems.
    files.sort();
    Ok(files)
}
