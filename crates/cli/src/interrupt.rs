//! Ctrl-C, SIGTERM and SIGHUP: the first asks the verb to end and to keep what it has.
//!
//! A verb looks at [`flag`] between two steps and ends by itself. One that cannot look, because it
//! waits in the kernel for a disk or a pipe, is ended with the process after [`GRACE`]. Whatever
//! must not be cut in two meanwhile holds a [`shield`]: a line of a journal, a file while it is
//! written, the time between a command that switches a machine and the one that switches it back.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Exit;
use crate::ui;

/// A verb that has not ended by itself so long after the first signal is ended: two seconds are
/// promised.
const GRACE: Duration = Duration::from_millis(1800);

/// A shield that is up for longer guards more than one file.
const FILE_WRITTEN: Duration = Duration::from_millis(100);

static STOP: AtomicBool = AtomicBool::new(false);
static SIGNALS: AtomicU32 = AtomicU32::new(0);
/// Shields that are up.
static SHIELDS: Mutex<u32> = Mutex::new(0);
static LOWERED: Condvar = Condvar::new();
const HELD: &str = "no code panics while it holds the lock";

/// Begins to listen for SIGINT, SIGTERM and SIGHUP.
pub(crate) fn listen() {
    // A second handler in one process is our bug; tests run the binary, never this twice.
    ctrlc::set_handler(signalled).expect("the only signal handler of this process");
}

fn signalled() {
    STOP.store(true, Ordering::Relaxed);
    match SIGNALS.fetch_add(1, Ordering::Relaxed) {
        0 => {
            // Without a thread for it the verb still ends by itself, or at the second signal.
            let _ = thread::Builder::new().spawn(end_after_grace);
        }
        1 if *SHIELDS.lock().expect(HELD) > 0 => {
            ui::interrupted(
                "the step under way must finish first; press Ctrl-C once more to end \
                             it anyway",
            );
        }
        _ => ui::exit_now(Exit::Interrupted),
    }
}

/// Ends the process unless it has ended by itself, and once no shield is up.
///
/// A verb that was under a shield at the end of its grace could not end by itself before: it has
/// its grace again to conclude what it kept, unless the shield was only that of a file.
fn end_after_grace() {
    loop {
        thread::sleep(GRACE);
        let shielded = Instant::now();
        let shields = SHIELDS.lock().expect(HELD);
        let shields = LOWERED.wait_while(shields, |shields| *shields > 0).expect(HELD);
        if shielded.elapsed() > FILE_WRITTEN {
            continue;
        }
        ui::interrupted("gave up waiting for what did not answer");
        // Held to the end, so that nobody raises a shield any more.
        let _held = shields;
        ui::exit_now(Exit::Interrupted)
    }
}

/// Keeps the process from being ended by a first signal as long as it lives.
#[derive(Debug)]
#[must_use]
pub(crate) struct Shield(());

/// Raises a shield.
pub(crate) fn shield() -> Shield {
    *SHIELDS.lock().expect(HELD) += 1;
    Shield(())
}

impl Drop for Shield {
    fn drop(&mut self) {
        *SHIELDS.lock().expect(HELD) -= 1;
        LOWERED.notify_all();
    }
}

/// The flag that measurements watch.
pub(crate) fn flag() -> &'static AtomicBool {
    &STOP
}

/// Whether the user asked to stop.
pub(crate) fn requested() -> bool {
    STOP.load(Ordering::Relaxed)
}
