//! Reads back, and reports faults.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use drivelab_core::label::SECTOR;
use drivelab_core::record::{Damage, DamageExample, Verification};
use drivelab_core::verification::BlockContent;
use rustix::fs::Advice;

use super::state::State;

/// Size of one read: a megabyte, or one block if that is larger.
const CHUNK: u64 = 1 << 20;
const PAGE: usize = 4096;

/// The writes that must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// Every acknowledged write: the power stayed on, however the run ended.
    Acknowledged,
    /// Every write that a completed flush covers, or that was itself durable: the power was cut.
    Flushed,
}

/// Reads everything that `state` lists from `file`, from the disk and not from memory as far as the
/// kernel drops its cache.
pub(super) fn check(file: &File, state: &State, promise: Promise) -> io::Result<Verification> {
    let header = &state.header;
    // Dirty pages cannot be dropped. A device without a cache to flush refuses, harmlessly.
    let _ = file.sync_all();
    let _ = rustix::fs::fadvise(file, 0, None, Advice::DontNeed);
    let block = usize::try_from(header.block_bytes).map_err(io::Error::other)?;
    let at_once = (CHUNK / header.block_bytes).max(1);
    let mut found = Verification::default();
    let durable = Durable::read(state, promise)?;
    // If read without the page cache, as from a served drive, a buffer that begins within a page is
    // split into requests that begin and end within sectors.
    let room = usize::try_from(at_once).map_err(io::Error::other)? * block;
    let mut memory = vec![0; room + PAGE];
    let begin = memory.as_ptr().align_offset(PAGE);
    let mut first = 0;
    while first < header.blocks {
        let count = at_once.min(header.blocks - first);
        let count = usize::try_from(count).map_err(io::Error::other)?;
        let data = &mut memory[begin..begin + count * block];
        let blocks = state.blocks(first, count)?;
        let from_byte = header.offset_bytes + first * header.block_bytes;
        let there = read(file, from_byte, data)?;
        for (number, account) in blocks.iter().enumerate() {
            let (from, to) = (number * block, (number + 1) * block);
            let bytes = (to <= there).then(|| &data[from..to]);
            let floor = account.floor(durable.of(header.writer(first + number as u64)));
            let offset_bytes = from_byte + from as u64;
            judge(&mut found, Requirement { run: header.run, offset_bytes, floor }, bytes);
        }
        first += count as u64;
    }
    Ok(found)
}

/// Up to which of its acknowledged writes each job guarantees that they are there.
struct Durable {
    /// By job; empty if every one is guaranteed.
    flushed: Vec<u64>,
}

impl Durable {
    fn read(state: &State, promise: Promise) -> io::Result<Self> {
        let jobs = if promise == Promise::Acknowledged { 0 } else { state.header.jobs };
        let flushed = (0..jobs).map(|job| state.durable(job)).collect::<io::Result<_>>()?;
        Ok(Self { flushed })
    }

    /// Each job flushes its own writes. If it is unknown which job wrote a block, the least that
    /// any of them flushed applies to all.
    fn of(&self, job: Option<u32>) -> u64 {
        let own = job.and_then(|job| self.flushed.get(job as usize));
        own.or_else(|| self.flushed.iter().min()).copied().unwrap_or(u64::MAX)
    }
}

fn read(file: &File, at: u64, data: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < data.len() {
        match file.read_at(&mut data[filled..], at + filled as u64) {
            Ok(0) => break,
            Ok(more) => filled += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let byte = at + filled as u64;
                return Err(io::Error::new(error.kind(), format!("at byte {byte}: {error}")));
            }
        }
    }
    Ok(filled)
}

/// The required content of a block: write `floor` of `run`, or a later one; none if that is 0.
#[derive(Debug, Clone, Copy)]
struct Requirement {
    run: u64,
    offset_bytes: u64,
    floor: u64,
}

fn judge(found: &mut Verification, block: Requirement, bytes: Option<&[u8]>) {
    let Requirement { run, offset_bytes, floor } = block;
    found.promised += u64::from(floor > 0);
    let content = bytes.map(|bytes| BlockContent::of(bytes, run, offset_bytes / SECTOR as u64));
    let fault = match &content {
        None => Some(Damage::Truncated).filter(|_| floor > 0),
        Some(content) => content.damage(floor),
    };
    let content = content.unwrap_or_default();
    match fault {
        Some(fault) => found.add(DamageExample {
            fault,
            offset_bytes,
            expected_generation: floor,
            found_generation: content.oldest,
            belongs_at_bytes: content.elsewhere.map(|sector| sector * SECTOR as u64),
        }),
        None if floor > 0 && content.is_mixed() => found.unfinished += 1,
        None => found.good += u64::from(floor > 0),
    }
}
