//! Ctrl-C: the first asks the measurement to end and keeps what it has; the second ends all.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// Begins to listen for SIGINT, SIGTERM and SIGHUP.
pub(crate) fn listen() {
    // A second handler in one process is our bug; tests run the binary, never this twice.
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            crate::ui::exit_now(crate::failure::Exit::Interrupted);
        }
    })
    .expect("the only signal handler of this process");
}

/// The flag that measurements watch.
pub(crate) fn flag() -> &'static AtomicBool {
    &STOP
}

/// Whether the user asked to stop.
pub(crate) fn requested() -> bool {
    STOP.load(Ordering::Relaxed)
}
