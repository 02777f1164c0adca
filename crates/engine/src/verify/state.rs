//! The state file: the required write of each block.
//!
//! One page names the run and one contains two numbers for each job. Sixteen bytes for each block
//! follow: the write that was last acknowledged, and the last one known to be durable. All are
//! overwritten and none straddles a sector, so the file is consistent at any moment. If it is
//! on a machine that also loses its power, any loss in it makes it promise less, never more. Every
//! entry and the first page have a checksum: a damaged account must not accuse the drive.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use drivelab_core::numbers::gcd;
use drivelab_core::units::{Bytes, SECTOR_BYTES};
use drivelab_core::verification::{
    BlockAccount, ENTRY_BYTES, entry, entry_numbers, sealed, unsealed,
};
use drivelab_core::workload::Workload;
use drivelab_core::{JobSchedule, Rng};
use drivelab_files::{Folder, Target};
use drivelab_load::Sharing;
use serde::{Deserialize, Serialize};

use crate::plan::RunPlan;

const SCHEMA: &str = "drivelab.verify-state/3";
/// The beginning of every version.
const ANY_SCHEMA: &[u8] = b"{\"schema\":\"drivelab.verify-state/";
const PAGE: u64 = 4096;
/// Bytes of a job's numbers, and of a block's.
const ENTRY: u64 = ENTRY_BYTES as u64;
/// The number of jobs that fit into one page.
const VERIFIED_JOBS_MAX: u32 = 256;
/// The kernel reads and writes less than this in one call (`man 2 read`).
const BLOCK_MAX: u64 = 1 << 31;
/// The end of the longest file (`off_t`).
const END_MAX: u64 = i64::MAX as u64;

/// The subject of a state file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    schema: String,
    target: String,
    /// The number in every label of this run and of no other.
    pub(super) run: u64,
    pub(super) offset_bytes: u64,
    pub(super) block_bytes: u64,
    pub(super) blocks: u64,
    pub(super) jobs: u32,
    /// Size of the part that each job wrote, in sequence; 0 for a single job.
    #[serde(default)]
    part_bytes: u64,
}

impl Header {
    /// Values that no run of ours can have written: an account is trusted, and memory is reserved
    /// for its blocks.
    fn impossible(&self) -> Option<String> {
        let Self { offset_bytes, block_bytes, blocks, jobs, .. } = *self;
        let end = blocks.checked_mul(block_bytes).and_then(|size| size.checked_add(offset_bytes));
        let wrong = if block_bytes == 0 || !block_bytes.is_multiple_of(SECTOR_BYTES) {
            format!("its block size of {block_bytes} bytes is not a multiple of a sector")
        } else if block_bytes > BLOCK_MAX {
            format!("its block size of {block_bytes} bytes exceeds any request")
        } else if end.is_none_or(|end| end > END_MAX) {
            format!("its {blocks} blocks of {block_bytes} bytes exceed any file")
        } else if jobs == 0 || jobs > VERIFIED_JOBS_MAX {
            format!("it lists {jobs} jobs")
        } else {
            return None;
        };
        Some(wrong)
    }

    /// The job that writes the block with this number; `None` if that is unknown.
    pub(super) fn writer(&self, block: u64) -> Option<u32> {
        debug_assert!(block < self.blocks, "block {block}");
        let job = (block * self.block_bytes).checked_div(self.part_bytes)?;
        // The rest after the last part belongs to no job.
        u32::try_from(job).ok().filter(|job| *job < self.jobs)
    }
}

fn part_of(workload: &Workload, capacity: Bytes, numjobs: u32) -> u64 {
    if numjobs == 1 {
        return 0;
    }
    let schedule = JobSchedule::default();
    let sharing = Sharing { capacity, numjobs, schedule, verified: true };
    sharing.part(workload, 0).size.map_or(0, Bytes::get)
}

/// Why there is no account.
#[expect(missing_docs, reason = "the messages say what the variants and their fields are")]
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("{} is not a verify state file, or its header is damaged", .path.display())]
    Foreign { path: PathBuf },
    #[error("the state file {} is damaged: {what}; this says nothing about the target",
        .path.display())]
    Damaged { path: PathBuf, what: String },
    #[error("{} is an account in version {version} of its format, and this drivelab reads \
        {SCHEMA} only", .path.display())]
    OtherVersion { path: PathBuf, version: String },
    #[error("{} belongs to {about}, not to {target}", .path.display())]
    OtherTarget { path: PathBuf, about: String, target: String },
    #[error("{} is still being written: {} is its state file", .target.display(),
        .by.as_deref().unwrap_or("another process"))]
    BeingWritten { target: PathBuf, by: Option<String> },
    #[error("a verified run has at most {VERIFIED_JOBS_MAX} jobs, not {numjobs}")]
    Jobs { numjobs: u32 },
    #[error("cannot {operation} {}", .path.display())]
    Target {
        operation: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot {operation} the state file {}", .path.display())]
    System {
        operation: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// An open state file.
#[derive(Debug)]
pub struct State {
    file: File,
    pub(super) header: Header,
}

/// One job's part of the account.
#[derive(Debug, Clone)]
pub struct JobAccount {
    /// The state file, which all jobs share.
    pub state: Arc<State>,
    /// The job.
    pub job: u32,
}

impl State {
    /// Begins the account of what `plan` writes to its target, which has `capacity`.
    ///
    /// # Errors
    /// `path` contains something else, or cannot be written.
    pub fn create(path: &Path, plan: &RunPlan, capacity: Bytes) -> Result<Self, StateError> {
        let RunPlan { path: target, workload, numjobs, seed, .. } = plan;
        if *numjobs > VERIFIED_JOBS_MAX {
            return Err(StateError::Jobs { numjobs: *numjobs });
        }
        let system =
            |operation| move |source| StateError::System { operation, path: path.into(), source };
        // Overwrites only our own files, and no account of another target.
        let (folder, name) = Folder::holding(path).map_err(system("make"))?;
        let found = Target::within(&folder, &name).map_err(system("open"))?;
        let earlier = match found.existing().map_err(system("open"))? {
            Some(file) => {
                let file = drivelab_files::reopen_to_write(&file).map_err(system("open"))?;
                Some(Self::of_file(path, file)?.about(path, target)?)
            }
            None => None,
        };
        let offset_bytes = workload.offset.get();
        let rest = capacity.get().saturating_sub(offset_bytes);
        let size = workload.size.map_or(rest, Bytes::get);
        // The largest unit that every write consists of, so that none covers part of an entry's
        // block.
        let sizes = workload.blocks.sizes().chain(workload.stride).map(Bytes::get);
        let block_bytes = sizes.fold(0, gcd);
        // The data of an earlier run with the same seed must not be taken for this one's.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let run = seed ^ Rng::new(u64::try_from(now.as_nanos()).unwrap_or(*seed)).bits();
        let header = Header {
            schema: SCHEMA.into(),
            target: target.display().to_string(),
            run,
            offset_bytes,
            block_bytes,
            blocks: size / block_bytes,
            jobs: *numjobs,
            part_bytes: part_of(workload, capacity, *numjobs),
        };
        // The file that was looked at, and no other that has its name by now.
        let file = match earlier {
            Some(earlier) => earlier.file.set_len(0).map(|()| earlier.file),
            // A link to nothing is a mistake: it is not followed.
            None => folder.create_new(&name),
        };
        let file = file.map_err(|error| match error.kind() {
            // Something other than a regular file, which is not opened.
            io::ErrorKind::AlreadyExists => StateError::Foreign { path: path.into() },
            _ => system("make")(error),
        })?;
        begin(&file, &header).map_err(system("write"))?;
        // Some file systems cannot; the account is as good as its file.
        let _ = folder.sync();
        Ok(Self { file, header })
    }

    /// Opens the account of an earlier run.
    ///
    /// # Errors
    /// There is none at `path`.
    pub fn open(path: &Path) -> Result<Self, StateError> {
        let system = |source| StateError::System { operation: "open", path: path.into(), source };
        // A pipe is not opened, which would wait for its other end.
        let file = drivelab_files::read_regular(path).map_err(system)?;
        Self::of_file(path, file.ok_or_else(|| StateError::Foreign { path: path.into() })?)
    }

    fn of_file(path: &Path, file: File) -> Result<Self, StateError> {
        let system =
            |operation| move |source| StateError::System { operation, path: path.into(), source };
        let foreign = || StateError::Foreign { path: path.into() };
        let mut page = vec![0; usize::try_from(PAGE).expect("4096")];
        file.read_exact_at(&mut page, 0).map_err(|_| foreign())?;
        if !page.starts_with(ANY_SCHEMA) {
            return Err(foreign());
        }
        let damaged = |what: &str| StateError::Damaged { path: path.into(), what: what.into() };
        if !page.starts_with(format!("{{\"schema\":\"{SCHEMA}\"").as_bytes()) {
            let rest = page[ANY_SCHEMA.len()..].split(|byte| *byte == b'"').next();
            let version = String::from_utf8_lossy(rest.unwrap_or_default()).into_owned();
            return Err(StateError::OtherVersion { path: path.into(), version });
        }
        let text = first_line(&page);
        let text = text.ok_or_else(|| damaged("its first page is not as it was written"))?;
        let header: Header =
            serde_json::from_str(text).map_err(|_| damaged("its first page is not an account"))?;
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

    /// Refuses to check `target` by the account of another target.
    ///
    /// # Errors
    /// It is about another target.
    pub fn about(self, path: &Path, target: &Path) -> Result<Self, StateError> {
        let (about, other) = (self.header.target.clone(), target);
        let target = target.display().to_string();
        if about == target {
            return Ok(self);
        }
        // Other names of the same file are accepted.
        let [known, asked] = [Path::new(&about), other].map(|path| path.canonicalize().ok());
        if known.is_some() && known == asked {
            return Ok(self);
        }
        Err(StateError::OtherTarget { path: path.into(), about, target })
    }

    pub(super) fn block(&self, number: u64) -> io::Result<BlockAccount> {
        Ok(self.blocks(number, 1)?[0])
    }

    /// The entries of `count` blocks from `first` on.
    pub(super) fn blocks(&self, first: u64, count: usize) -> io::Result<Vec<BlockAccount>> {
        debug_assert!(first + count as u64 <= self.header.blocks, "{count} blocks from {first}");
        let mut bytes = vec![0; count * ENTRY_BYTES];
        self.file.read_exact_at(&mut bytes, 2 * PAGE + first * ENTRY)?;
        let entries = (first..).zip(bytes.chunks_exact(ENTRY_BYTES));
        entries
            .map(|(number, bytes)| {
                let numbers = entry_numbers(number, bytes);
                let [newest, durable] =
                    numbers.ok_or_else(|| damage(format!("the entry of block {number}")))?;
                Ok(BlockAccount { newest, durable })
            })
            .collect()
    }

    pub(super) fn write(&self, number: u64, block: BlockAccount) -> io::Result<()> {
        debug_assert!(number < self.header.blocks, "block {number}");
        let bytes = entry(number, [block.newest, block.durable]);
        self.file.write_all_at(&bytes, 2 * PAGE + number * ENTRY)
    }

    /// Every write of `job` up to this one is durable.
    pub(super) fn durable(&self, job: u32) -> io::Result<u64> {
        debug_assert!(job < self.header.jobs, "job {job}");
        let mut bytes = [0; ENTRY_BYTES];
        self.file.read_exact_at(&mut bytes, PAGE + u64::from(job) * ENTRY)?;
        let numbers = entry_numbers(of_job(job), &bytes);
        Ok(numbers.ok_or_else(|| damage(format!("the entry of job {job}")))?[0])
    }

    pub(super) fn set_durable(&self, job: u32, generation: u64) -> io::Result<()> {
        debug_assert!(job < self.header.jobs, "job {job}");
        // Entries first: an account that guarantees a flush must know what was flushed.
        self.file.sync_data()?;
        let bytes = entry(of_job(job), [generation, 0]);
        self.file.write_all_at(&bytes, PAGE + u64::from(job) * ENTRY)
    }
}

fn begin(file: &File, header: &Header) -> io::Result<()> {
    let text = serde_json::to_string(header).expect("plain data is always JSON");
    let mut text = sealed(&text).into_bytes();
    text.resize(usize::try_from(PAGE).expect("4096"), b'\n');
    file.set_len(2 * PAGE + header.blocks * ENTRY)?;
    file.write_all_at(&text, 0)?;
    // On the disk before the first write: a power cut must not take the account with it.
    file.sync_all()
}

/// The index that a job's checksum covers: no block has so high a number.
fn of_job(job: u32) -> u64 {
    u64::MAX - u64::from(job)
}

fn first_line(page: &[u8]) -> Option<&str> {
    unsealed(std::str::from_utf8(page.split(|byte| *byte == b'\n').next()?).ok()?)
}

/// An entry that changed since it was written, as an error of the system.
fn damage(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what + " is not as it was written")
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
        let plan = RunPlan { numjobs: 2, seed: 7, ..RunPlan::new(target.into(), workload) };
        let create = |path: &Path| State::create(path, &plan, Bytes::mib(1));
        let state = create(&path).unwrap();
        assert_eq!((state.header.block_bytes, state.header.blocks), (2048, 512));
        state.write(511, BlockAccount { newest: 9, durable: 4 }).unwrap();
        state.set_durable(1, 5).unwrap();
        let again = State::open(&path).unwrap().about(&path, target).unwrap();
        assert_eq!(again.header, state.header);
        let blocks = again.blocks(510, 2).unwrap();
        assert_eq!(blocks, [BlockAccount::default(), BlockAccount { newest: 9, durable: 4 }]);
        assert_eq!((again.durable(0).unwrap(), again.durable(1).unwrap()), (0, 5));
        let other = State::open(&path).unwrap().about(&path, Path::new("other")).unwrap_err();
        assert!(other.to_string().contains("belongs to disk, not to other"), "{other}");
        create(&path).unwrap();
        let pipe = scratch.path("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(matches!(create(&pipe), Err(StateError::Foreign { .. })));
        // Opening it would wait for a writer.
        assert!(matches!(State::open(&pipe), Err(StateError::Foreign { .. })));
        std::os::unix::fs::symlink(scratch.path("victim"), scratch.path("link")).unwrap();
        create(&scratch.path("link")).unwrap_err();
        assert!(!scratch.path("victim").exists());
        let letter = scratch.file("letter", b"dear");
        assert!(matches!(create(&letter), Err(StateError::Foreign { .. })));
        assert_eq!(std::fs::read(letter).unwrap(), b"dear");
    }

    #[test]
    fn accounts_of_another_version_are_refused_by_name_and_damaged_ones_as_such() {
        let scratch = Scratch::new("state");
        let path = scratch.path("state");
        let plan = RunPlan::new("disk".into(), WorkloadOptions::default().check().unwrap());
        let state = State::create(&path, &plan, Bytes::mib(1)).unwrap();
        let written = std::fs::read(&path).unwrap();
        let at = ANY_SCHEMA.len();
        assert_eq!(written[at], b'3');
        let with = |place: usize, byte| {
            let mut bytes = written.clone();
            bytes[place] = byte;
            let error = State::open(&scratch.file("other", &bytes)).unwrap_err();
            error.to_string()
        };
        assert!(with(at, b'2').contains("version 2 of its format"), "{}", with(at, b'2'));
        assert!(with(at + 20, b'~').contains("is damaged"), "{}", with(at + 20, b'~'));
        assert!(with(3, b'~').contains("not a verify state file"), "{}", with(3, b'~'));
        state.write(2, BlockAccount { newest: 9, durable: 4 }).unwrap();
        let byte = 2 * PAGE + 2 * ENTRY;
        File::options().write(true).open(&path).unwrap().write_all_at(&[8], byte).unwrap();
        let error = state.block(2).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn accounts_of_impossible_blocks_are_refused() {
        let scratch = Scratch::new("state");
        let check = |block_bytes: u64, offset_bytes: u64, blocks: u64| {
            let header = Header {
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
