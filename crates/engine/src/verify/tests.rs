//! Planted faults: each is reported by its kind.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use drivelab_core::Request;
use drivelab_core::record::{Damage, Verification};
use drivelab_core::units::{Bytes, Lba, Sectors};
use drivelab_core::workload::WorkloadOptions;

use super::check::check;
use super::{JobAccount, Ledger, Promise, State};
use crate::plan::RunPlan;
use crate::testing::Scratch;

const BLOCK: usize = 4096;
const BLOCKS: u64 = 16;

/// The fate of a write.
#[derive(Clone, Copy)]
enum Fate {
    Arrives,
    /// Acknowledged and dropped.
    Dropped,
    /// Acknowledged, and only the first sectors arrive.
    Half,
    /// Acknowledged, and written to another block.
    Astray(u64),
    /// Half of it arrives, and the power fails before it is acknowledged.
    CutOff,
}

/// A drive that handles each write as the test specifies.
struct Disk {
    file: File,
    state: Arc<State>,
    ledger: Ledger,
    requests: u64,
    _scratch: Scratch,
}

impl Disk {
    fn new() -> Self {
        Self::of_jobs(1)
    }

    fn of_jobs(numjobs: u32) -> Self {
        let scratch = Scratch::new("verify");
        let path = scratch.file("disk", &vec![0; BLOCK * 16]);
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let workload = WorkloadOptions::default().check().unwrap();
        let capacity = Bytes::new(BLOCKS * BLOCK as u64);
        let plan = RunPlan { numjobs, ..RunPlan::new("disk".into(), workload) };
        let state = Arc::new(State::create(&scratch.path("state"), &plan, capacity).unwrap());
        let ledger = Ledger::new(JobAccount { state: state.clone(), job: 0 }, 8);
        Self { file, state, ledger, requests: 0, _scratch: scratch }
    }

    fn write(&mut self, block: u64, fate: Fate) {
        self.requests += 1;
        let request = Request::write(self.requests, Lba::new(block * 8), Sectors::new(8));
        let mut data = vec![0x5A; BLOCK];
        assert!(self.ledger.ready(&request));
        self.ledger.write(&request, &mut data);
        let (length, at) = match fate {
            Fate::Arrives => (BLOCK, block),
            Fate::Dropped => (0, block),
            Fate::Half | Fate::CutOff => (BLOCK / 2, block),
            Fate::Astray(at) => (BLOCK, at),
        };
        self.file.write_all_at(&data[..length], at * BLOCK as u64).unwrap();
        if !matches!(fate, Fate::CutOff) {
            self.ledger.done(request.id, true).unwrap();
        }
    }

    fn flush(&mut self) {
        self.requests += 1;
        let request = Request::flush(self.requests);
        self.ledger.flush(&request);
        self.ledger.done(request.id, true).unwrap();
    }

    /// Every block once.
    fn fill(&mut self) {
        for block in 0..BLOCKS {
            self.write(block, Fate::Arrives);
        }
    }

    fn verify(&self, promise: Promise) -> Verification {
        check(&self.file, &self.state, promise).unwrap()
    }

    #[track_caller]
    fn check(&self, promise: Promise, expected: &[(Damage, u64)]) {
        let found = self.verify(promise);
        let faults: Vec<(Damage, u64)> =
            found.examples.iter().map(|it| (it.fault, it.offset_bytes / BLOCK as u64)).collect();
        assert_eq!(faults, expected, "{found:?}");
        let all: u64 = found.faults.values().sum();
        assert_eq!(all, expected.len() as u64);
    }
}

#[test]
fn what_arrived_is_good() {
    let mut disk = Disk::new();
    disk.check(Promise::Acknowledged, &[]);
    disk.fill();
    for block in [3, 5, 3] {
        disk.write(block, Fate::Arrives);
    }
    let found = disk.verify(Promise::Acknowledged);
    assert_eq!((found.promised, found.good, found.is_good()), (BLOCKS, BLOCKS, true));
}

#[test]
fn planted_faults_are_told_apart() {
    let mut disk = Disk::new();
    disk.write(1, Fate::Dropped);
    disk.check(Promise::Acknowledged, &[(Damage::Lost, 1)]);
    disk.fill();
    disk.write(2, Fate::Dropped);
    disk.check(Promise::Acknowledged, &[(Damage::Stale, 2)]);
    let stale = &disk.verify(Promise::Acknowledged).examples[0];
    assert_eq!((stale.expected_generation, stale.found_generation), (18, Some(4)));
    disk.write(2, Fate::Arrives);
    disk.write(4, Fate::Half);
    disk.check(Promise::Acknowledged, &[(Damage::Torn, 4)]);
    disk.write(4, Fate::Arrives);
    disk.write(6, Fate::Astray(9));
    disk.check(Promise::Acknowledged, &[(Damage::Stale, 6), (Damage::Misdirected, 9)]);
    let astray = &disk.verify(Promise::Acknowledged).examples[1];
    assert_eq!(astray.belongs_at_bytes, Some(6 * BLOCK as u64));
}

#[test]
fn a_flipped_bit_swapped_blocks_and_a_missing_end_are_told_apart() {
    let mut disk = Disk::new();
    disk.fill();
    let mut bytes = vec![0; BLOCK];
    for bit in [0, 77, 8 * 600 + 3, 8 * 4095 + 7] {
        disk.file.read_exact_at(&mut bytes, 5 * BLOCK as u64).unwrap();
        bytes[bit / 8] ^= 1 << (bit % 8);
        disk.file.write_all_at(&bytes, 5 * BLOCK as u64).unwrap();
        disk.check(Promise::Acknowledged, &[(Damage::Corrupt, 5)]);
        disk.write(5, Fate::Arrives);
    }
    let mut other = bytes.clone();
    disk.file.read_exact_at(&mut bytes, 7 * BLOCK as u64).unwrap();
    disk.file.read_exact_at(&mut other, 8 * BLOCK as u64).unwrap();
    disk.file.write_all_at(&other, 7 * BLOCK as u64).unwrap();
    disk.file.write_all_at(&bytes, 8 * BLOCK as u64).unwrap();
    disk.check(Promise::Acknowledged, &[(Damage::Misdirected, 7), (Damage::Misdirected, 8)]);
    disk.write(7, Fate::Arrives);
    disk.write(8, Fate::Arrives);
    disk.file.set_len(14 * BLOCK as u64 + 100).unwrap();
    disk.check(Promise::Acknowledged, &[(Damage::Truncated, 14), (Damage::Truncated, 15)]);
}

#[test]
fn after_a_power_cut_only_what_was_flushed_is_promised() {
    let mut disk = Disk::new();
    disk.fill();
    disk.flush();
    disk.write(3, Fate::Dropped);
    disk.write(4, Fate::Half);
    disk.write(6, Fate::CutOff);
    disk.check(Promise::Flushed, &[]);
    disk.check(Promise::Acknowledged, &[(Damage::Stale, 3), (Damage::Torn, 4)]);
    assert_eq!(disk.verify(Promise::Flushed).unfinished, 2);
    // Flushed data is nevertheless gone: that is a broken promise.
    disk.file.write_all_at(&[0; BLOCK], 3 * BLOCK as u64).unwrap();
    disk.check(Promise::Flushed, &[(Damage::Lost, 3)]);
}

#[test]
fn two_writes_to_one_block_wait_for_one_another() {
    let mut disk = Disk::new();
    let write = |id, sector| Request::write(id, Lba::new(sector), Sectors::new(8));
    disk.ledger.write(&write(1, 0), &mut [0; BLOCK]);
    assert!(!disk.ledger.ready(&write(2, 4)));
    assert!(disk.ledger.ready(&write(2, 8)));
    assert!(disk.ledger.ready(&Request::flush(2)));
    disk.ledger.done(write(1, 0).id, false).unwrap();
    assert!(disk.ledger.ready(&write(2, 4)));
    // A failed write promised nothing.
    assert_eq!(disk.verify(Promise::Acknowledged).promised, 0);
}

/// Two jobs with half of the blocks each, of which only the second flushes.
#[test]
fn what_one_job_flushed_is_promised_whatever_another_did() {
    let mut disk = Disk::of_jobs(2);
    let mut other = Ledger::new(JobAccount { state: disk.state.clone(), job: 1 }, 8);
    std::mem::swap(&mut disk.ledger, &mut other);
    for block in BLOCKS / 2..BLOCKS {
        disk.write(block, Fate::Arrives);
    }
    disk.flush();
    std::mem::swap(&mut disk.ledger, &mut other);
    disk.write(2, Fate::Dropped);
    let at = (BLOCKS - 1) * BLOCK as u64;
    disk.file.write_all_at(&[0; BLOCK], at).unwrap();
    disk.check(Promise::Flushed, &[(Damage::Lost, BLOCKS - 1)]);
}

#[test]
fn what_a_flush_under_way_covers_stays_promised_when_its_block_is_rewritten() {
    let mut disk = Disk::new();
    disk.write(3, Fate::Arrives);
    let flush = Request::flush(1000);
    disk.ledger.flush(&flush);
    // The cache has the second write, and the flush guarantees the first.
    disk.write(3, Fate::Dropped);
    disk.write(3, Fate::Dropped);
    disk.ledger.done(flush.id, true).unwrap();
    disk.check(Promise::Flushed, &[]);
    disk.file.write_all_at(&[0; BLOCK], 3 * BLOCK as u64).unwrap();
    disk.check(Promise::Flushed, &[(Damage::Lost, 3)]);
}

#[test]
fn a_flush_that_failed_promises_nothing() {
    let mut disk = Disk::new();
    disk.write(3, Fate::Dropped);
    let flush = Request::flush(1000);
    disk.ledger.flush(&flush);
    disk.write(3, Fate::Dropped);
    disk.ledger.done(flush.id, false).unwrap();
    disk.check(Promise::Flushed, &[]);
}
