//! Runs as rows have them, which are unpacked on several threads.

use std::thread;

use super::row::origin;
use crate::entry::Whole;
use crate::error::ArchiveError;
use crate::pack::{unpack, unpack_head};
use crate::store::Row;

/// A run without its parts, its record still packed.
pub(super) struct Packed {
    whole: Whole,
    record: Vec<u8>,
    /// Bytes of the document.
    length: u64,
    /// Its distributions are not asked for.
    head_only: bool,
    pub(super) has_parts: bool,
}

impl Packed {
    /// A row: record, its length, id, time, label, origin, whether it has parts. Of what has parts
    /// all is asked for.
    pub(super) fn of(row: &Row, head_only: bool) -> Result<Self, ArchiveError> {
        let run: String = row.get(2)?;
        let id = run.parse().map_err(|_| ArchiveError::NoSuchRun(run.clone()))?;
        let origin = origin(row, 5).map_err(|why| ArchiveError::Damaged { run, why })?;
        let whole = Whole {
            id,
            time_ms: row.get::<i64>(3)?.unsigned_abs(),
            origin,
            label: row.get(4)?,
            document: String::new(),
            parts: Vec::new(),
        };
        // SQLite says 1, PostgreSQL true.
        let has_parts = row.is_true(6);
        Ok(Self {
            whole,
            record: row.get(0)?,
            length: row.get::<i64>(1)?.unsigned_abs(),
            head_only: head_only && !has_parts,
            has_parts,
        })
    }

    /// The run with its document.
    pub(super) fn unpack(self) -> Result<Whole, ArchiveError> {
        let read = if self.head_only { unpack_head } else { unpack };
        let document = read(&self.record, self.length);
        let run = self.whole.id;
        let document =
            document.map_err(|why| ArchiveError::Damaged { run: run.to_string(), why })?;
        Ok(Whole { document, ..self.whole })
    }
}

/// What `make` makes of each, in their order, each processor with a share of them.
pub(super) fn side_by_side<I: Send, O: Send>(
    items: Vec<I>,
    make: impl Fn(I) -> O + Sync,
) -> Vec<O> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let share = items.len().div_ceil(threads).max(1);
    let (mut shares, mut left) = (Vec::new(), items.into_iter());
    loop {
        let some: Vec<I> = left.by_ref().take(share).collect();
        if some.is_empty() {
            break;
        }
        shares.push(some);
    }
    let make_all = |some: Vec<I>| some.into_iter().map(&make).collect::<Vec<O>>();
    let own = if shares.is_empty() { Vec::new() } else { shares.remove(0) };
    thread::scope(|scope| {
        let others: Vec<_> =
            shares.into_iter().map(|some| scope.spawn(|| make_all(some))).collect();
        let mut all = make_all(own);
        for other in others {
            // A panic of the thread is one of this thread.
            all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    })
}

/// Reading rows keeps no more than a few threads busy.
const THREADS_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_side_by_side_keeps_its_order() {
        for count in [0, 1, 2, 3, 17, 500] {
            let made = side_by_side((0..count).collect(), |number: usize| number * 2);
            assert_eq!(made, (0..count).map(|number| number * 2).collect::<Vec<_>>());
        }
    }
}
