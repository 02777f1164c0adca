//! Who has locked a file.
//!
//! Locks are advisory (`man 2 flock`) and bind those who ask: every run that writes a file shares
//! one, a run that keeps account of what it writes has one to itself.

use std::fs::{File, TryLockError};
use std::time::Duration;

use drivelab_core::usage::{Census, Process};

use super::device::identity;

/// How often a lock is asked for that its holder may give up at this moment: it ends, or has just
/// laid the file out.
const LOOKS: u32 = 25;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Another process holds a lock that stands against ours: which one, where that can be seen.
#[derive(Debug)]
pub(crate) struct LockHolder(pub(crate) Option<Process>);

/// Shares `file`, while it is open, with all who write it without keeping account.
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
            // A file system without locks has none that could be held.
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
        // One who gives it up meanwhile is waited for.
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| share(&open(), &QUIET).is_ok());
            drop(one);
            assert!(waits.join().unwrap());
        });
        alone(&open(), &QUIET).unwrap();
    }
}
