//! Ending in time, whatever does not answer.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::interrupt;

/// How often it is looked whether the user asked to stop.
const LOOK_ROUND: Duration = Duration::from_millis(50);
/// What is under way may end by itself for so long: a sync of a healthy disk takes some tenths of a
/// second, and an interrupted command must be gone after two.
const GRACE: Duration = Duration::from_secs(1);

/// Does `work` in a thread of its own; `None` where the user asked to stop and it does not end,
/// because it waits for a disk, a ledger or another machine that does not answer.
pub(super) fn unless_stuck<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Option<Result<T, Failure>> {
    let (tell, told) = mpsc::channel();
    // Nobody listens any more where the wait was given up.
    let work = move || drop(tell.send(work()));
    let thread = match std::thread::Builder::new().spawn(work) {
        Ok(thread) => thread,
        Err(error) => {
            let error = anyhow::Error::new(error).context("cannot start a thread");
            return Some(Err(Failure::cannot_here(error)));
        }
    };
    let mut deadline = None;
    loop {
        match told.recv_timeout(LOOK_ROUND) {
            Ok(done) => return Some(done),
            Err(RecvTimeoutError::Disconnected) => {
                let panic = thread.join().expect_err("it told of every end but a panic");
                std::panic::resume_unwind(panic);
            }
            Err(RecvTimeoutError::Timeout) if interrupt::requested() => {
                let now = Instant::now();
                if now >= *deadline.get_or_insert(now + GRACE) {
                    return None;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
