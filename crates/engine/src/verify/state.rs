//! The state file: which write each block must hold.
//!
//! One page names the run, one holds two numbers for each job, and then come sixteen bytes for each
//! block: the write that was last acknowledged, and the one that was last known to be durable. All
//! are written in place and none straddles a sector, so the file is whole at any moment. If it lies
//! on a machine that loses its power too, what it has lost makes it promise less, never more. Every
//! entry and the first page carry a checksum: an account that is damaged must not accuse the drive.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use drivelab_core::Rng;
use drivelab_core::units::{Bytes, SECTOR_BYTES};
use drivelab_core::verification::{checksum, sealed, unsealed};
use drivelab_core::workload::Workload;
use serde::{Deserialize, Serialize};

use crate::jobs::share;

const SCHEMA: &str = "drivelab.verify-state/3";
/// The same with other checksums; read, and no longer written.
const SCHEMA_2: &str = "drivelab.verify-state/2";
const PAGE: u64 = 4096;
/// Bytes of a job's numbers, and of a block's.
const ENTRY: u64 = 16;
/// The same as a length in memory.
const ENTRY_LEN: usize = 16;
/// As many jobs as one page has room for.
const VERIFIED_JOBS_MAX: u32 = 256;
/// The kernel reads and writes less than this at once (`man 2 read`).
const BLOCK_MAX: u64 = 1 << 31;
/// The end of the longest file (`off_t`).
const END_MAX: u64 = i64::MAX as u64;

/// What a state file is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateHeader {
    schema: String,
    /// What was written.
    pub target: String,
    /// What stands in every label of this run and of no other.
    pub run: u64,
    /// First byte of the region.
    pub offset_bytes: u64,
    /// Bytes that are kept account of together.
    pub block_bytes: u64,
    /// How many blocks there are.
    pub blocks: u64,
    /// Jobs that wrote them.
    pub jobs: u32,
    /// Bytes of the part that each job wrote, one behind the other; 0 where that is not known, as
    /// in accounts of earlier versions.
    #[serde(default)]
    pub part_bytes: u64,
}

impl StateHeader {
    /// What in it no run of ours can have written: an account is believed, and memory is set aside
    /// for its blocks.
    fn impossible(&self) -> Option<String> {
        let Self { offset_bytes, block_bytes, blocks, jobs, .. } = *self;
        let end = blocks.checked_mul(block_bytes).and_then(|size| size.checked_add(offset_bytes));
        if block_bytes == 0 || !block_bytes.is_multiple_of(SECTOR_BYTES) {
            Some(format!("its block size of {block_bytes} bytes is not a multiple of a sector"))
        } else if block_bytes > BLOCK_MAX {
            Some(format!("its block size of {block_bytes} bytes exceeds any request"))
        } else if end.is_none_or(|end| end > END_MAX) {
            Some(format!("its {blocks} blocks of {block_bytes} bytes exceed any file"))
        } else if jobs == 0 || jobs > VERIFIED_JOBS_MAX {
            Some(format!("it lists {jobs} jobs"))
        } else {
            None
        }
    }

    /// The job that writes the block of this number; `None` where that is not known.
    pub(super) fn writer(&self, block: u64) -> Option<u32> {
        let job = (block * self.block_bytes).checked_div(self.part_bytes)?;
        // What is left over behind the last part belongs to nobody.
        u32::try_from(job).ok().filter(|job| *job < self.jobs)
    }
}

/// Bytes of the region that each of `numjobs` jobs takes.
fn part_of(workload: &Workload, capacity: Bytes, numjobs: u32) -> u64 {
    if numjobs == 1 {
        return 0;
    }
    share(workload, capacity, 0, numjobs).size.map_or(0, Bytes::get)
}

/// Why there is no account.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file is something else.
    #[error("{} is not a verify state file, or its header is damaged", .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// It is one, and not as it was written.
    #[error("the state file {} is damaged: {what}; this says nothing about the target",
        .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// It tells of another target.
    #[error("{} belongs to {about}, not to {target}", .path.display())]
    OtherTarget {
        /// The file.
        path: PathBuf,
        /// What it is about.
        about: String,
        /// What was to be checked.
        target: String,
    },
    /// A verified run writes the target at this moment.
    #[error("{} is still being written: {} is its state file", .target.display(),
        .by.as_deref().unwrap_or("another process"))]
    BeingWritten {
        /// The target.
        target: PathBuf,
        /// Which process, where that can be seen.
        by: Option<String>,
    },
    /// More jobs than there is room for.
    #[error("a verified run has at most {VERIFIED_JOBS_MAX} jobs, not {numjobs}")]
    Jobs {
        /// What was asked for.
        numjobs: u32,
    },
    /// The target cannot be read.
    #[error("cannot {operation} {}", .path.display())]
    Target {
        /// What was being done.
        operation: &'static str,
        /// The target.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The system refused.
    #[error("cannot {operation} the state file {}", .path.display())]
    System {
        /// What was being done.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// An open state file.
#[derive(Debug)]
pub struct State {
    file: File,
    /// What it is about.
    pub header: StateHeader,
}

/// One job's part of the account.
#[derive(Debug, Clone)]
pub struct JobAccount {
    /// The state file, which all jobs share.
    pub state: Arc<State>,
    /// The job.
    pub job: u32,
}

/// What a block must hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// The last write that was acknowledged; 0 for none.
    pub(super) acknowledged: u64,
    /// The last one of those before it that a flush, or the write itself, made durable.
    pub(super) durable: u64,
}

impl State {
    /// Begins the account of `workload` on `target`, which holds `capacity`.
    ///
    /// # Errors
    /// `path` holds something else, or cannot be written.
    pub fn create(
        path: &Path,
        target: &Path,
        (workload, capacity): (&Workload, Bytes),
        (seed, numjobs): (u64, u32),
    ) -> Result<Self, StateError> {
        if numjobs > VERIFIED_JOBS_MAX {
            return Err(StateError::Jobs { numjobs });
        }
        if path.exists() {
            // Only what is ours is written over, and no account of something else.
            Self::open(path)?.about(path, target)?;
        }
        let offset_bytes = workload.offset.get();
        let rest = capacity.get().saturating_sub(offset_bytes);
        let size = workload.size.map_or(rest, Bytes::get);
        let sizes = workload.blocks.sizes().chain(workload.stride).map(Bytes::get);
        let block_bytes = sizes.fold(0, gcd);
        // What an earlier run with the same seed left must not pass for this one's.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let run = seed ^ Rng::new(u64::try_from(now.as_nanos()).unwrap_or(seed)).bits();
        let header = StateHeader {
            schema: SCHEMA.into(),
            target: target.display().to_string(),
            run,
            offset_bytes,
            block_bytes,
            blocks: size / block_bytes,
            jobs: numjobs,
            part_bytes: part_of(workload, capacity, numjobs),
        };
        let system =
            |operation| move |source| StateError::System { operation, path: path.into(), source };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(path);
        let file = file.map_err(system("make"))?;
        begin(&file, &header).map_err(system("write"))?;
        sync_folder(path);
        Ok(Self { file, header })
    }

    /// Opens the account that an earlier run left.
    ///
    /// # Errors
    /// There is none at `path`.
    pub fn open(path: &Path) -> Result<Self, StateError> {
        let system =
            |operation| move |source| StateError::System { operation, path: path.into(), source };
        let file = File::open(path).map_err(system("open"))?;
        let mut page = vec![0; usize::try_from(PAGE).expect("4096")];
        let foreign = || StateError::Foreign { path: path.into() };
        file.read_exact_at(&mut page, 0).map_err(|_| foreign())?;
        let is_of = |schema| page.starts_with(format!("{{\"schema\":\"{schema}\"").as_bytes());
        if !is_of(SCHEMA) && !is_of(SCHEMA_2) {
            return Err(foreign());
        }
        let damaged = |what: &str| StateError::Damaged { path: path.into(), what: what.into() };
        let text = if is_of(SCHEMA) { first_line(&page) } else { version_2::first_line(&page) };
        let text = text.ok_or_else(|| damaged("the checksum of its first page is wrong"))?;
        let header: StateHeader = serde_json::from_str(text)
            .map_err(|_| damaged("its first page is not a state header"))?;
        if let Some(what) = header.impossible() {
            return Err(damaged(&what));
        }
        let length = file.metadata().map_err(system("stat"))?.len();
        let whole = header.blocks.checked_mul(ENTRY).and_then(|bytes| bytes.checked_add(2 * PAGE));
        if whole != Some(length) {
            return Err(damaged(&format!(
                "it is {length} bytes long and should be {}",
                whole.unwrap_or_default()
            )));
        }
        Ok(Self { file, header })
    }

    /// Refuses to check `target` by the account of another.
    ///
    /// # Errors
    /// It is about another.
    pub fn about(self, path: &Path, target: &Path) -> Result<Self, StateError> {
        let (about, other) = (self.header.target.clone(), target);
        let target = target.display().to_string();
        let found = |path: &Path| path.canonicalize().ok();
        // Other names of the same file are as good.
        let same = || found(Path::new(&about)).is_some_and(|path| Some(path) == found(other));
        if about == target || same() {
            return Ok(self);
        }
        Err(StateError::OtherTarget { path: path.into(), about, target })
    }

    /// The entry of one block.
    pub(super) fn entry(&self, number: u64) -> io::Result<Entry> {
        let mut bytes = [0; ENTRY_LEN];
        self.file.read_exact_at(&mut bytes, 2 * PAGE + number * ENTRY)?;
        self.parse(number, &bytes)
    }

    fn parse(&self, number: u64, bytes: &[u8]) -> io::Result<Entry> {
        let numbers = numbers(self.entry_sum(), number, bytes);
        let [acknowledged, durable] =
            numbers.ok_or_else(|| damage(&format!("the entry of block {number}")))?;
        Ok(Entry { acknowledged, durable })
    }

    fn entry_sum(&self) -> EntrySum {
        if self.header.schema == SCHEMA_2 { version_2::entry_sum } else { entry_sum }
    }

    /// The entries of `count` blocks from `first` on.
    pub(super) fn entries(&self, first: u64, count: usize) -> io::Result<Vec<Entry>> {
        let mut bytes = vec![0; count * ENTRY_LEN];
        self.file.read_exact_at(&mut bytes, 2 * PAGE + first * ENTRY)?;
        let entries = (first..).zip(bytes.chunks_exact(ENTRY_LEN));
        entries.map(|(number, bytes)| self.parse(number, bytes)).collect()
    }

    pub(super) fn write(&self, number: u64, entry: Entry) -> io::Result<()> {
        let bytes = both(number, [entry.acknowledged, entry.durable]);
        self.file.write_all_at(&bytes, 2 * PAGE + number * ENTRY)
    }

    /// Every write of `job` up to this one is durable.
    pub(super) fn durable(&self, job: u32) -> io::Result<u64> {
        let mut bytes = [0; ENTRY_LEN];
        self.file.read_exact_at(&mut bytes, PAGE + u64::from(job) * ENTRY)?;
        let numbers = numbers(self.entry_sum(), of_job(job), &bytes);
        Ok(numbers.ok_or_else(|| damage(&format!("the entry of job {job}")))?[0])
    }

    pub(super) fn set_durable(&self, job: u32, generation: u64) -> io::Result<()> {
        // Entries first: an account that promises a flush must know what was flushed.
        self.file.sync_data()?;
        let bytes = both(of_job(job), [generation, 0]);
        self.file.write_all_at(&bytes, PAGE + u64::from(job) * ENTRY)
    }
}

/// Writes the first page of an account and makes room for its entries.
fn begin(file: &File, header: &StateHeader) -> io::Result<()> {
    let text = serde_json::to_string(header).expect("plain data is always JSON");
    let mut text = sealed(&text).into_bytes();
    text.resize(usize::try_from(PAGE).expect("4096"), b'\n');
    file.set_len(2 * PAGE + header.blocks * ENTRY)?;
    file.write_all_at(&text, 0)?;
    file.sync_all()
}

/// Brings the name of a new file to the disk, as far as its folder lets itself be synced.
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
}

/// What a job's entry is checked as: no block has so high a number.
fn of_job(job: u32) -> u64 {
    u64::MAX - u64::from(job)
}

/// What the first line of an account says, where its checksum holds.
fn first_line(page: &[u8]) -> Option<&str> {
    unsealed(std::str::from_utf8(page.split(|byte| *byte == b'\n').next()?).ok()?)
}

/// An entry that is not as it was written, among errors of the system.
fn damage(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the checksum of {what} is wrong"))
}

/// Of 48 bits each, which a million writes a second take nine years to fill, and the sum of both
/// and their place in the others. An entry never written is zero; `None` where the sum is another.
fn numbers(sum: EntrySum, place: u64, bytes: &[u8]) -> Option<[u64; 2]> {
    let (one, other) = bytes.split_at(8);
    let halves =
        [one, other].map(|half| u64::from_le_bytes(half.try_into().expect("half of sixteen")));
    let numbers = halves.map(|half| half & MOST);
    (halves == [0; 2] || halves == summed(sum, place, numbers)).then_some(numbers)
}

const MOST: u64 = (1 << 48) - 1;

/// The checksum of an entry: its place and its two numbers.
type EntrySum = fn([u64; 3]) -> u32;

fn entry_sum(words: [u64; 3]) -> u32 {
    checksum(words.map(u64::to_le_bytes).as_flattened())
}

fn summed(sum: EntrySum, place: u64, [one, other]: [u64; 2]) -> [u64; 2] {
    let sum = u64::from(sum([place, one, other]));
    [one | sum >> 16 << 48, other | sum << 48]
}

fn both(place: u64, numbers: [u64; 2]) -> [u8; ENTRY_LEN] {
    assert!(numbers.iter().all(|number| *number <= MOST), "nine years of writes in one run");
    let mut bytes = [0; ENTRY_LEN];
    let halves = summed(entry_sum, place, numbers).map(u64::to_le_bytes);
    bytes.copy_from_slice(halves.as_flattened());
    bytes
}

/// The checksums of version 2: FNV-1a over words instead of bytes (Fowler, Noll and Vo), its high
/// half mixed in once more.
mod version_2 {
    pub(super) fn entry_sum(words: [u64; 3]) -> u32 {
        u32::try_from(sum(words.into_iter()) >> 32).expect("32 bits")
    }

    pub(super) fn first_line(page: &[u8]) -> Option<&str> {
        let mut lines = page.split(|byte| *byte == b'\n');
        let (text, found) = (lines.next()?, lines.next()?);
        let sum = sum(text.iter().copied().map(u64::from));
        (format!("{sum:016x}").as_bytes() == found).then(|| std::str::from_utf8(text).ok())?
    }

    pub(super) fn sum(words: impl Iterator<Item = u64>) -> u64 {
        let step = |sum: u64, word: u64| (sum ^ word).wrapping_mul(0x0100_0000_01B3);
        let sum = words.fold(0xCBF2_9CE4_8422_2325, step);
        step(step(sum, sum >> 32), sum >> 17)
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use drivelab_core::workload::WorkloadOptions;

    use super::*;
    use crate::testing::Scratch;

    #[test]
    fn an_account_is_read_back_and_other_files_are_left_alone() {
        let scratch = Scratch::new("state");
        let (path, target) = (scratch.path("state"), Path::new("disk"));
        let options =
            WorkloadOptions { bssplit: Some("6k/1:4k/1".parse().unwrap()), ..Default::default() };
        let workload = options.check().unwrap();
        let create = |path: &Path| State::create(path, target, (&workload, Bytes::mib(1)), (7, 2));
        let state = create(&path).unwrap();
        assert_eq!((state.header.block_bytes, state.header.blocks), (2048, 512));
        state.write(511, Entry { acknowledged: 9, durable: 4 }).unwrap();
        state.set_durable(1, 5).unwrap();
        let again = State::open(&path).unwrap().about(&path, target).unwrap();
        assert_eq!(again.header, state.header);
        let entries = again.entries(510, 2).unwrap();
        assert_eq!(entries, [Entry::default(), Entry { acknowledged: 9, durable: 4 }]);
        assert_eq!((again.durable(0).unwrap(), again.durable(1).unwrap()), (0, 5));
        let other = State::open(&path).unwrap().about(&path, Path::new("other")).unwrap_err();
        assert!(other.to_string().contains("belongs to disk, not to other"), "{other}");
        create(&path).unwrap();
        let letter = scratch.file("letter", b"dear");
        assert!(matches!(create(&letter), Err(StateError::Foreign { .. })));
        assert_eq!(std::fs::read(letter).unwrap(), b"dear");
    }

    /// As the version before wrote them.
    #[test]
    fn accounts_of_version_2_are_read() {
        let scratch = Scratch::new("state");
        let text = format!(
            "{{\"schema\":\"{SCHEMA_2}\",\"target\":\"disk\",\"run\":7,\"offset_bytes\":0,\
             \"block_bytes\":4096,\"blocks\":4,\"jobs\":1,\"part_bytes\":0}}"
        );
        let sum = version_2::sum(text.bytes().map(u64::from));
        let mut page = format!("{text}\n{sum:016x}").into_bytes();
        page.resize(2 * 4096 + 4 * ENTRY_LEN, b'\n');
        page[4096..].fill(0);
        let halves = summed(version_2::entry_sum, 2, [9, 4]).map(u64::to_le_bytes);
        page[2 * 4096 + 2 * ENTRY_LEN..][..ENTRY_LEN].copy_from_slice(halves.as_flattened());
        let path = scratch.file("state", &page);
        let state = State::open(&path).unwrap();
        assert_eq!((state.header.run, state.durable(0).unwrap()), (7, 0));
        assert_eq!(state.entry(2).unwrap(), Entry { acknowledged: 9, durable: 4 });
        page[2 * 4096 + 2 * ENTRY_LEN] ^= 1;
        let flipped = State::open(&scratch.file("flipped", &page)).unwrap();
        let error = flipped.entry(2).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        page[20] ^= 1;
        let error = State::open(&scratch.file("other", &page)).unwrap_err();
        assert!(
            matches!(error, StateError::Damaged { .. } | StateError::Foreign { .. }),
            "{error}"
        );
    }

    #[test]
    fn accounts_of_impossible_blocks_are_refused() {
        let scratch = Scratch::new("state");
        let check = |block_bytes: u64, offset_bytes: u64, blocks: u64| {
            let header = StateHeader {
                schema: SCHEMA.into(),
                target: "disk".into(),
                run: 1,
                offset_bytes,
                block_bytes,
                blocks,
                jobs: 1,
                part_bytes: 0,
            };
            let file = File::create(scratch.path("state")).unwrap();
            begin(&file, &header).unwrap();
            let error = State::open(&scratch.path("state")).unwrap_err();
            assert!(matches!(error, StateError::Damaged { .. }), "{error}");
        };
        check(1 << 60, 0, 1);
        check(u64::MAX, 0, 1);
        check(0, 0, 1);
        check(511, 0, 1);
        check(4096, u64::MAX - 4096, 4);
        check(1 << 31, u64::MAX - 1, 1);
    }
}
