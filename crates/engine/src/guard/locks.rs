//! Who has locked a file.
//!
//! Locks are advisory (`man 2 flock`) and bind those who ask: every run that writes a file shares
//! one, a run that keeps account of what it writes has one to itself.

use std::fs::{self, File, Metadata, TryLockError};
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use super::users;

/// How often a lock is asked for that its holder may give up at this moment: it ends, or has just
/// laid the file out.
const LOOKS: u32 = 25;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Another process holds a lock that stands against ours.
#[derive(Debug)]
pub(crate) struct Held {
    /// Which one, where that can be seen.
    pub(crate) by: Option<String>,
}

/// Shares `file`, while it is open, with all who write it without keeping account.
pub(crate) fn share(file: &File) -> Result<(), Held> {
    taken(file, File::try_lock_shared)
}

/// Keeps every other writer away from `file` while it is open.
pub(crate) fn alone(file: &File) -> Result<(), Held> {
    taken(file, File::try_lock)
}

fn taken(file: &File, lock: fn(&File) -> Result<(), TryLockError>) -> Result<(), Held> {
    let mut by = None;
    for _ in 0..LOOKS {
        match lock(file) {
            Err(TryLockError::WouldBlock) => {}
            // A file system without locks has none that could be held.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(()),
        }
        let holder = file.metadata().ok().and_then(|meta| holder(&meta));
        let running = holder.filter(|process| is_running(process));
        by = running.map(|process| users::named(&process));
        std::thread::sleep(BETWEEN_LOOKS);
    }
    Err(Held { by })
}

/// Whether the process has not ended: the kernel lets go of the files of a killed one's ring some
/// milliseconds after it is gone.
fn is_running(process: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The state stands behind the name, which may hold anything.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// The process that has the file locked that `meta` is about.
fn holder(meta: &Metadata) -> Option<String> {
    let table = fs::read_to_string("/proc/locks").ok()?;
    let device = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    table.lines().find_map(|line| lock(line, device, meta.ino()))
}

/// The process in a line of `/proc/locks` (`man 5 proc_locks`), where it is about this file.
fn lock(line: &str, (major, minor): (u32, u32), inode: u64) -> Option<String> {
    let mut words = line.split_ascii_whitespace().skip(1);
    // `->` in this place is one who waits.
    if words.next()? != "FLOCK" {
        return None;
    }
    let process = words.nth(2)?;
    let place = format!("{major:02x}:{minor:02x}:{inode}");
    (words.next()? == place && process != "0").then(|| process.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;

    #[test]
    fn lines_of_the_table_of_locks_are_read() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(lock(line, (0xfe, 1), 4711).as_deref(), expected, "{line}");
        };
        check("1: FLOCK  ADVISORY  WRITE 708 fe:01:4711 0 EOF", Some("708"));
        check("1: FLOCK  ADVISORY  WRITE 708 fe:02:4711 0 EOF", None);
        check("1: FLOCK  ADVISORY  WRITE 708 fe:01:471 0 EOF", None);
        check("1: -> FLOCK  ADVISORY  WRITE 709 fe:01:4711 0 EOF", None);
        check("2: POSIX  ADVISORY  WRITE 708 fe:01:4711 0 EOF", None);
        check("1: FLOCK  ADVISORY  WRITE 0 fe:01:4711 0 EOF", None);
        check("nonsense", None);
    }

    #[test]
    fn a_process_that_ended_holds_nothing() {
        assert!(is_running(&std::process::id().to_string()));
        assert!(!is_running("4194305"), "beyond the most that Linux numbers");
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let process = child.id().to_string();
        // Not waited for: it stays as a zombie.
        while is_running(&process) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
    }

    #[test]
    fn writers_share_a_file_unless_one_has_it_alone() {
        let scratch = Scratch::new("locks");
        let path = scratch.file("data", b"");
        let open = || File::open(&path).unwrap();
        let (one, two) = (open(), open());
        share(&one).unwrap();
        share(&two).unwrap();
        let held = alone(&open()).unwrap_err();
        assert!(held.by.is_none_or(|by| by.contains(&std::process::id().to_string())));
        drop((one, two));
        let one = open();
        alone(&one).unwrap();
        assert!(share(&open()).is_err());
        // One who gives it up meanwhile is waited for.
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| share(&open()).is_ok());
            drop(one);
            assert!(waits.join().unwrap());
        });
        alone(&open()).unwrap();
    }
}
