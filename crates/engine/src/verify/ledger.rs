//! Keeps the account while a job runs.

use std::io;

use drivelab_core::label::{self, SECTOR};
use drivelab_core::request::{Op, Request, RequestId};

use super::state::JobAccount;

#[derive(Debug, Clone, Copy)]
struct Pending {
    id: RequestId,
    op: Op,
    /// The answer guarantees that it is durable.
    fua: bool,
    /// First sector and the one after the last; both 0 for a flush.
    sectors: (u64, u64),
    /// Its generation; for a flush, the last one that it makes durable.
    generation: u64,
}

/// One job's account: labels written data, and records acknowledged writes.
#[derive(Debug)]
pub(crate) struct Ledger {
    account: JobAccount,
    generation: u64,
    /// Every write up to this one was flushed.
    durable: u64,
    pending: Vec<Pending>,
    /// The guarantees of flushes in progress about blocks that have been rewritten since.
    covered: Vec<CoveredWrite>,
}

/// Maximum number of remembered blocks that are rewritten while flushes are in progress: more than
/// occur during one. For other blocks the flush guarantees less than it could, never more.
const COVERED_MAX: usize = 4096;

/// A block that was rewritten while a flush of its older content was in progress.
#[derive(Debug, Clone, Copy)]
struct CoveredWrite {
    block: u64,
    /// The older content, which the block's entry no longer shows.
    generation: u64,
}

impl Ledger {
    pub(crate) fn new(account: JobAccount, iodepth: u32) -> Self {
        Self {
            account,
            generation: 0,
            durable: 0,
            pending: Vec::with_capacity(iodepth as usize),
            covered: Vec::with_capacity(COVERED_MAX),
        }
    }

    /// Returns true if `request` may be submitted now. With two simultaneous writes to one block it
    /// would be unknown which one must be there afterwards, so the second waits for the first.
    pub(crate) fn ready(&self, request: &Request) -> bool {
        let (first, end) = (request.lba.get(), request.end().get());
        let mut pending = self.pending.iter();
        request.op != Op::Write || !pending.any(|it| first < it.sectors.1 && it.sectors.0 < end)
    }

    pub(crate) fn write(&mut self, request: &Request, data: &mut [u8]) {
        self.generation += 1;
        let generation = self.generation;
        let run = self.account.state.header.run;
        label::put_all(data, run, request.lba.get(), generation);
        let sectors = (request.lba.get(), request.end().get());
        let Request { id, op, fua, .. } = *request;
        self.pending.push(Pending { id, op, fua, sectors, generation });
    }

    /// A flush is about to be submitted: it covers every write acknowledged so far.
    pub(crate) fn flush(&mut self, request: &Request) {
        // Every write before the oldest one in flight was acknowledged. Later ones may have been,
        // too: the promise is smaller than it could be, never larger.
        let writes = self.pending.iter().filter(|it| it.op == Op::Write);
        let first = writes.map(|it| it.generation).min();
        let generation = first.map_or(self.generation, |first| first - 1);
        let Request { id, op, fua, .. } = *request;
        self.pending.push(Pending { id, op, fua, sectors: (0, 0), generation });
    }

    /// The target answered the request that was submitted as `id`; reads are not recorded.
    pub(crate) fn done(&mut self, id: RequestId, succeeded: bool) -> io::Result<()> {
        let Some(index) = self.pending.iter().position(|it| it.id == id) else {
            return Ok(());
        };
        let it = self.pending.swap_remove(index);
        debug_assert!(it.generation <= self.generation, "{it:?}");
        let state = &self.account.state;
        if !succeeded {
            // Nothing was promised: the block may contain either.
            return Ok(());
        }
        if it.op == Op::Flush {
            return self.flushed(it.generation);
        }
        let under_way = self.pending.iter().filter(|it| it.op == Op::Flush);
        let promising = under_way.map(|it| it.generation).max().unwrap_or(0);
        let of = |sector: u64| {
            (sector * SECTOR as u64 - state.header.offset_bytes) / state.header.block_bytes
        };
        for number in of(it.sectors.0)..of(it.sectors.1) {
            let mut block = state.block(number)?;
            if block.newest > self.durable
                && block.newest <= promising
                && self.covered.len() < COVERED_MAX
            {
                self.covered.push(CoveredWrite { block: number, generation: block.newest });
            }
            // Before `newest` is replaced: what a flush made durable must not be forgotten.
            block.durable = block.floor(self.durable);
            block.newest = it.generation;
            if it.fua {
                block.durable = it.generation;
            }
            state.write(number, block)?;
        }
        Ok(())
    }

    /// A flush of every write up to `generation` was answered.
    fn flushed(&mut self, generation: u64) -> io::Result<()> {
        // Entries before the number that vouches for them, as in `State::set_durable`.
        let state = &self.account.state;
        for covered in self.covered.iter().filter(|it| it.generation <= generation) {
            let mut block = state.block(covered.block)?;
            if block.durable < covered.generation {
                block.durable = covered.generation;
                state.write(covered.block, block)?;
            }
        }
        let flushing = self.pending.iter().any(|it| it.op == Op::Flush);
        self.covered.retain(|it| flushing && it.generation > generation);
        debug_assert!(generation <= self.generation, "only writes made are flushed");
        self.durable = self.durable.max(generation);
        state.set_durable(self.account.job, self.durable)
    }
}
