//! The user's request to stop, and shields around work that must not be cut in two.
//!
//! A verb looks at [`flag`] between two steps and ends by itself; `ui::signals` ends one that
//! cannot. Whatever must stay whole holds a [`shield`] meanwhile: a line of a journal, a file while
//! it is written, the time between a command that switches a machine and the one that switches it
//! back.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

static STOP: AtomicBool = AtomicBool::new(false);
/// Shields that are up.
static SHIELDS: Mutex<u32> = Mutex::new(0);
static LOWERED: Condvar = Condvar::new();
const HELD: &str = "no code panics while it holds the lock";

/// Keeps the process from being ended by a first signal as long as it lives.
#[derive(Debug)]
#[must_use]
pub struct Shield(());

/// Raises a shield.
pub fn shield() -> Shield {
    *SHIELDS.lock().expect(HELD) += 1;
    Shield(())
}

impl Drop for Shield {
    fn drop(&mut self) {
        *SHIELDS.lock().expect(HELD) -= 1;
        LOWERED.notify_all();
    }
}

/// True if a shield is up.
pub fn shielded() -> bool {
    *SHIELDS.lock().expect(HELD) > 0
}

/// Waits until no shield is up, and lets no thread raise one while the guard lives.
pub fn no_more_shields() -> MutexGuard<'static, u32> {
    let shields = SHIELDS.lock().expect(HELD);
    LOWERED.wait_while(shields, |shields| *shields > 0).expect(HELD)
}

/// Work that makes nothing but a text: all that it reads is kept already. As long as it lives, the
/// first signal may end the process.
#[derive(Debug)]
#[must_use]
pub struct Reading(());

static READING: AtomicBool = AtomicBool::new(false);

/// Begins such work.
pub fn reading() -> Reading {
    READING.store(true, Ordering::Relaxed);
    Reading(())
}

impl Drop for Reading {
    fn drop(&mut self) {
        READING.store(false, Ordering::Relaxed);
    }
}

/// Returns true while such work is done.
pub fn is_reading() -> bool {
    READING.load(Ordering::Relaxed)
}

/// Notes that the user asked to stop.
pub fn request() {
    STOP.store(true, Ordering::Relaxed);
}

/// The flag that measurements watch.
pub fn flag() -> &'static AtomicBool {
    &STOP
}

/// True if the user asked to stop.
pub fn requested() -> bool {
    STOP.load(Ordering::Relaxed)
}
