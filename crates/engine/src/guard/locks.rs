//! The process that has locked a file.
//!
//! Locks are advisory (`man 2 flock`) and bind only those who use them: all runs that write a file
//! share one, and a run that keeps account of its writes has an exclusive one.

use std::fs::{File, TryLockError};
use std::time::Duration;

use drivelab_core::usage::{Census, Process};

use super::device::identity;

/// Attempts at a lock whose holder may just be releasing it: the holder is exiting, or has
/// just laid out the file.
const LOOKS: u32 = 25;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Another process holds a conflicting lock: which one, if that is visible.
#[derive(Debug)]
pub(crate) struct LockHolder(pub(crate) Option<Process>);

/// Shares `file`, while it is open, with all writers that do not keep account.
pub(crate) fn share(file: &File, census: &dyn Census) -> Result<(), LockHolder> {
    taken(file, File::try_lock_shared, census)
}

/// Keeps every other writer away from `file` while it is open.
pub(crate) fn alone(file: &File, census: &dyn Census) -> Result<(), LockHolder> {
    taken(file, File::try_lock, census)
}

fn taken(
    file: &File,
    lock: fn(&File) -> Result<(), TryLockError>,
    census: &dyn Census,
) -> Result<(), LockHolder> {
    let mut by = None;
    for _ in 0..LOOKS {
        match lock(file) {
            Err(TryLockError::WouldBlock) => {}
            // On a file system without locks no process can hold one.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(()),
        }
        by = file.metadata().ok().and_then(|meta| census.lock_holder(identity(&meta)));
        std::thread::sleep(BETWEEN_LOOKS);
    }
    Err(LockHolder(by))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quiet::Quiet;
    use crate::testing::Scratch;

    const QUIET: Quiet = Quiet(Vec::new());

    #[test]
    fn writers_share_a_file_unless_one_has_it_alone() {
        let scratch = Scratch::new("locks");
        let path = scratch.file("data", b"");
        let open = || File::open(&path).unwrap();
        let (one, two) = (open(), open());
        share(&one, &QUIET).unwrap();
        share(&two, &QUIET).unwrap();
        let held = alone(&open(), &QUIET).unwrap_err();
        assert_eq!(held.0, None, "nobody told");
        drop((one, two));
        let one = open();
        alone(&one, &QUIET).unwrap();
        assert!(share(&open(), &QUIET).is_err());
        // A process that releases it meanwhile is waited for.
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| share(&open(), &QUIET).is_ok());
            drop(one);
            assert!(waits.join().unwrap());
        });
        alone(&open(), &QUIET).unwrap();
    }
}
