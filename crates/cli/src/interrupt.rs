//! Ctrl-C, SIGTERM and SIGHUP: the first asks the verb to end and to keep what it has.
//!
//! A verb looks at [`flag`] between two steps and ends by itself. One that cannot look, because it
//! waits in the kernel for a disk or a pipe, is ended with the process after [`GRACE`]. Whatever
//! must not be cut in two meanwhile holds a [`shield`]: a line of a journal, a file while it is
//! written, the time between a command that switches a machine and the one that switches it back.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use crate::failure::Exit;
use crate::ui;

/// A verb that has not ended by itself so long after the first signal is ended: two seconds are
/// promised.
const GRACE: Duration = Duration::from_millis(1800);
/// How often a verb that waits for input looks whether it shall stop.
const LOOK_UP: Duration = Duration::from_millis(50);

static STOP: AtomicBool = AtomicBool::new(false);
static SIGNALS: AtomicU32 = AtomicU32::new(0);
/// Shields that are up.
static SHIELDS: Mutex<u32> = Mutex::new(0);
static LOWERED: Condvar = Condvar::new();
const HELD: &str = "nobody panics while the count of shields is held";

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
            ui::interrupted("what is under way must not be cut in two; once more ends it anyway");
        }
        _ => ui::exit_now(Exit::Interrupted),
    }
}

/// Ends the process unless it has ended by itself, and once no shield is up.
fn end_after_grace() {
    thread::sleep(GRACE);
    let shields = SHIELDS.lock().expect(HELD);
    let shields = LOWERED.wait_while(shields, |shields| *shields > 0).expect(HELD);
    ui::interrupted("gave up what did not answer");
    // Held to the end, so that nobody raises a shield any more.
    let _held = shields;
    ui::exit_now(Exit::Interrupted)
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

/// Input that ends when the user asks to stop, however long whoever writes it keeps silent.
#[derive(Debug)]
pub(crate) struct Input {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    at: usize,
}

/// Bytes that are read at once, and pieces that wait for the verb.
const PIECE: usize = 1 << 16;
const PIECES: usize = 4;

impl Input {
    /// Opens and reads on a thread of its own, which waits wherever there is something to wait for.
    pub(crate) fn new<R: Read>(
        open: impl FnOnce() -> io::Result<R> + Send + 'static,
    ) -> io::Result<Self> {
        let (full, pieces) = mpsc::sync_channel(PIECES);
        let read = move || {
            let mut input = match open() {
                Ok(input) => input,
                Err(error) => return drop(full.send(Err(error))),
            };
            loop {
                let mut piece = vec![0; PIECE];
                let read = input.read(&mut piece);
                let over = !matches!(read, Ok(1..));
                let sent = full.send(read.map(|length| {
                    piece.truncate(length);
                    piece
                }));
                if over || sent.is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().spawn(read)?;
        Ok(Self { pieces, piece: Vec::new(), at: 0 })
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            match self.pieces.recv_timeout(LOOK_UP) {
                Ok(piece) => (self.piece, self.at) = (piece?, 0),
                Err(RecvTimeoutError::Timeout) if !requested() => continue,
                Err(_) => return Ok(0),
            }
            if self.piece.is_empty() {
                return Ok(0);
            }
        }
        let length = into.len().min(self.piece.len() - self.at);
        into[..length].copy_from_slice(&self.piece[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}
