//! Cancellable work on disks and machines that may not answer, and its progress.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use drivelab_core::Control;
use drivelab_core::Span;
use drivelab_core::verification::PromiseRate;

use super::ledger::{Note, Notes};

/// Interval at which the stop flag is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time for an operation in progress to end by itself: a sync of a healthy disk takes a few tenths
/// of a second, and an interrupted command must end after two.
const GRACE: Duration = Duration::from_secs(1);

/// Does `work` on a new thread; returns `None` if the user stopped it and the work does not end
/// because it waits for a disk, a ledger or another machine that does not answer.
pub fn unless_stuck<T: Send + 'static>(
    control: &Control<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Option<T>> {
    let (result, results) = mpsc::channel();
    // If the wait was abandoned, the result is not received.
    let thread = std::thread::Builder::new().spawn(move || drop(result.send(work())))?;
    let mut deadline = None;
    loop {
        match results.recv_timeout(POLL_INTERVAL) {
            Ok(done) => return Ok(Some(done)),
            Err(RecvTimeoutError::Disconnected) => {
                let panic = thread.join().expect_err("only a panic ends it without a result");
                std::panic::resume_unwind(panic);
            }
            Err(RecvTimeoutError::Timeout) if control.stopped() => {
                let now = Instant::now();
                // The thread stays behind: a system call that hangs cannot be interrupted.
                if now >= *deadline.get_or_insert(now + GRACE) {
                    return Ok(None);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The promises so far, visible from another thread.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    promised: Arc<AtomicU64>,
    took_ns: Arc<AtomicU64>,
}

impl Progress {
    /// Their number and time.
    pub fn pace(&self) -> PromiseRate {
        let promised = self.promised.load(Ordering::Relaxed);
        PromiseRate { promised, took: Span::from_ns(self.took_ns.load(Ordering::Relaxed)) }
    }

    /// The same `notes`, counted as they are recorded.
    pub fn count(&self, notes: Box<dyn Notes>) -> impl Notes + use<> {
        Counter { notes, progress: self.clone() }
    }
}

struct Counter {
    notes: Box<dyn Notes>,
    progress: Progress,
}

impl Notes for Counter {
    fn note(&mut self, note: Note) -> io::Result<()> {
        self.notes.note(note)?;
        // The clock of a target begins with it.
        self.progress.took_ns.store(note.at.ns(), Ordering::Relaxed);
        self.progress.promised.fetch_add(note.promised.into(), Ordering::Relaxed);
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        self.notes.close()
    }
}
