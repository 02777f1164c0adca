//! Locks of files that several jobs use (fio's `lockfile`).

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use drivelab_core::workload::FileLock;
use drivelab_core::{IoEngine, Op};

/// The inode of a file, or the number of a device.
type FileNumber = (u64, u64);

const HELD: &str = "no job panics while it holds the lock";

/// One lock for each file of which a job wants one.
#[derive(Debug, Default)]
pub(crate) struct FileLocks(BTreeMap<FileNumber, Arc<RwLock<()>>>);

impl FileLocks {
    /// The locks of these files.
    pub(crate) fn of(files: impl Iterator<Item = FileNumber>) -> Self {
        Self(files.map(|file| (file, Arc::default())).collect())
    }

    /// The lock that a job takes for each request; as in fio, only a call that performs the request
    /// is covered, and not the time that it waits in a queue.
    pub(crate) fn job(
        &self,
        file: Option<FileNumber>,
        kind: FileLock,
        engine: IoEngine,
    ) -> Option<JobLock> {
        let synchronous = matches!(engine, IoEngine::Psync | IoEngine::Pvsync | IoEngine::Pvsync2);
        let lock = file.filter(|_| synchronous).and_then(|file| self.0.get(&file))?;
        (!kind.is_none()).then(|| JobLock { lock: lock.clone(), kind })
    }
}

/// The lock of one job.
#[derive(Debug, Clone)]
pub struct JobLock {
    lock: Arc<RwLock<()>>,
    kind: FileLock,
}

/// A lock that is held.
#[derive(Debug)]
pub(crate) enum Held<'a> {
    With { _others: RwLockReadGuard<'a, ()> },
    Alone { _lock: RwLockWriteGuard<'a, ()> },
}

impl JobLock {
    /// Waits until a request of this kind may be made.
    pub(crate) fn hold(&self, op: Op) -> Held<'_> {
        debug_assert!(!self.kind.is_none(), "a job without a lock has none");
        if self.kind == FileLock::ReadWrite && op == Op::Read {
            return Held::With { _others: self.lock.read().expect(HELD) };
        }
        Held::Alone { _lock: self.lock.write().expect(HELD) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileNumber = (1, 2);

    fn job(kind: FileLock, engine: IoEngine) -> Option<JobLock> {
        FileLocks::of([FILE].into_iter()).job(Some(FILE), kind, engine)
    }

    /// True if a job may read, and write, while another one reads.
    fn while_another_reads(kind: FileLock) -> (bool, bool) {
        let job = job(kind, IoEngine::Psync).unwrap();
        let _held = job.hold(Op::Read);
        (job.lock.try_read().is_ok(), job.lock.try_write().is_ok())
    }

    #[test]
    fn readers_share_a_file_and_a_writer_has_it_alone() {
        assert_eq!(while_another_reads(FileLock::ReadWrite), (true, false));
        assert_eq!(while_another_reads(FileLock::Exclusive), (false, false));
        let job = job(FileLock::ReadWrite, IoEngine::Pvsync).unwrap();
        for op in [Op::Write, Op::Flush, Op::Trim] {
            let held = job.hold(op);
            assert!(job.lock.try_read().is_err(), "{op:?}");
            drop(held);
        }
        assert!(job.lock.try_write().is_ok(), "a lock is released");
    }

    #[test]
    fn only_calls_that_perform_a_request_are_locked() {
        assert!(job(FileLock::None, IoEngine::Psync).is_none());
        assert!(job(FileLock::Exclusive, IoEngine::IoUring).is_none());
        assert!(job(FileLock::Exclusive, IoEngine::Libaio).is_none());
        let other = FileLocks::of([(3, 4)].into_iter());
        assert!(other.job(Some(FILE), FileLock::Exclusive, IoEngine::Psync).is_none());
    }
}
