//! The user's request to stop this process, and the shields around work that must not be cut in
//! two.
//!
//! A verb looks at [`flag`] between two steps and ends by itself; the command line's handler of
//! signals ends one that cannot. Whatever must stay whole holds a [`shield`] meanwhile: a line of a
//! journal, a file while it is written, the time between a command that switches a machine and the
//! one that switches it back.

use std::sync::MutexGuard;
use std::sync::atomic::{AtomicBool, Ordering};

use drivelab_core::control::{Control, Observer, Shields};

/// A shield of this process.
pub type Shield = drivelab_core::control::Shield<'static>;

static STOP: AtomicBool = AtomicBool::new(false);
static SHIELDS: Shields = Shields::new();

/// The control of work of this process, which reports to `observer`.
pub const fn control(observer: &dyn Observer) -> Control<'_> {
    Control::new(&STOP, observer).shielded_by(&SHIELDS)
}

/// The same for work that reports nothing.
pub const fn silent() -> Control<'static> {
    Control::silent(&STOP).shielded_by(&SHIELDS)
}

/// Raises a shield.
pub fn shield() -> Shield {
    SHIELDS.raise()
}

/// True if a shield is up.
pub fn shielded() -> bool {
    SHIELDS.is_any_up()
}

/// Waits until no shield is up, and lets no thread raise one while the guard lives.
pub fn no_more_shields() -> MutexGuard<'static, u32> {
    SHIELDS.wait_until_lowered()
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
