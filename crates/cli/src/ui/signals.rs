//! Ctrl-C, SIGTERM and SIGHUP: the first asks the verb to end and to keep what it has.
//!
//! A verb that cannot look at the flag, because it waits in the kernel for a disk or a pipe, is
//! ended with the process after [`GRACE`].

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::exit::Exit;
use drivelab_lab::interrupt;

/// Time that a verb has to end by itself after the first signal: two seconds are promised.
const GRACE: Duration = Duration::from_millis(1800);

/// A shield that is up for longer guards more than one file.
const FILE_WRITTEN: Duration = Duration::from_millis(100);

/// The end of a verb that only had to read or to analyse runs.
const ALL_KEPT: &str = "the finished runs are kept; repeat the command, of a study with --resume";

static SIGNALS: AtomicU32 = AtomicU32::new(0);

/// Begins to listen for SIGINT, SIGTERM and SIGHUP.
pub(crate) fn listen() {
    // A second handler in one process is our bug; tests run the binary, never this twice.
    ctrlc::set_handler(signalled).expect("the only signal handler of this process");
}

fn signalled() {
    interrupt::request();
    match SIGNALS.fetch_add(1, Ordering::Relaxed) {
        0 if interrupt::is_reading() && !interrupt::shielded() => {
            super::interrupted(ALL_KEPT);
            super::exit_now(Exit::Interrupted)
        }
        0 => {
            // Without a thread for it the verb still ends by itself, or at the second signal.
            let _ = thread::Builder::new().spawn(end_after_grace);
        }
        1 if interrupt::shielded() => {
            super::interrupted(
                "the step under way must finish first; press Ctrl-C once more to end it anyway",
            );
        }
        _ => super::exit_now(Exit::Interrupted),
    }
}

/// Ends the process unless it has ended by itself, and once no shield is up.
///
/// A verb that held a shield at the end of its grace could not end by itself before: it gets its
/// grace again to conclude what it kept, unless the shield was only that of a file.
fn end_after_grace() {
    loop {
        thread::sleep(GRACE);
        let waiting = Instant::now();
        // Held to the end, so that no thread raises a shield any more.
        let _held = interrupt::no_more_shields();
        if waiting.elapsed() > FILE_WRITTEN {
            continue;
        }
        super::interrupted(if interrupt::is_reading() {
            ALL_KEPT
        } else {
            "abandoned an operation that did not respond"
        });
        super::exit_now(Exit::Interrupted)
    }
}
