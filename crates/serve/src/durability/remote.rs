//! The ledger on another machine, for a test that unplugs this one.
//!
//! Lines over TCP: the head of the ledger, then its notes. A note that a write was begun is
//! answered with `ok` once it is in the other machine's file.

use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use super::ledger::{LINE_MAX, Ledger, Note, Notes};
use drivelab_core::Control;

/// Notes kept by another machine.
#[derive(Debug)]
pub struct Remote {
    stream: BufReader<TcpStream>,
}

impl Remote {
    /// Connects to the machine at `address` and begins a ledger there.
    pub fn connect(address: &str, ledger: &Ledger) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        // Each note waits for its answer, so Nagle's algorithm would add a delay to every page.
        stream.set_nodelay(true)?;
        stream.write_all(ledger.head().as_bytes())?;
        Ok(Self { stream: BufReader::new(stream) })
    }
}

impl Notes for Remote {
    fn note(&mut self, note: Note) -> io::Result<()> {
        self.stream.get_mut().write_all(note.to_line().as_bytes())?;
        // A promise needs no answer: if it is lost with the connection, the page counts as unknown.
        if note.promised {
            return Ok(());
        }
        let mut answer = String::new();
        self.stream.by_ref().take(LINE_MAX).read_line(&mut answer)?;
        if answer == "ok\n" { Ok(()) } else { Err(io::ErrorKind::ConnectionAborted.into()) }
    }
}

/// Interval at which a machine that receives nothing checks whether it must stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Keeps the ledger of one writer in the file at `path`, until the writer disappears or the user
/// stops it; returns the number of notes.
pub fn keep_for_others(
    listener: &TcpListener,
    path: &Path,
    control: &Control<'_>,
) -> io::Result<u64> {
    let Some(stream) = accept(listener, control)? else { return Ok(0) };
    let mut lines = Lines { stream: BufReader::new(stream), line: Vec::new() };
    let head = lines.next(control).unwrap_or_default();
    let ledger = Ledger::from_head(&head).filter(Ledger::fits_a_file).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, "the client is not `durability`")
    })?;
    let mut kept = ledger.keep_in(path)?;
    let mut notes = 0;
    while let Some(note) = lines.next(control).and_then(|line| Ledger::note_of(&line)) {
        kept.note(note)?;
        notes += 1;
        if !note.promised && lines.stream.get_mut().write_all(b"ok\n").is_err() {
            break;
        }
    }
    kept.close()?;
    Ok(notes)
}

/// Waits for the writer; returns nothing if the user stopped it.
fn accept(listener: &TcpListener, control: &Control<'_>) -> io::Result<Option<TcpStream>> {
    listener.set_nonblocking(true)?;
    while !control.stopped() {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                stream.set_nodelay(true)?;
                // The stop flag must be seen even if the writer sends nothing.
                stream.set_read_timeout(Some(POLL_INTERVAL))?;
                return Ok(Some(stream));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                std::thread::sleep(POLL_INTERVAL);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The lines of a writer that may stop sending.
struct Lines {
    stream: BufReader<TcpStream>,
    line: Vec<u8>,
}

impl Lines {
    /// The next complete line. A writer whose plug was pulled ends with an error or not at all; its
    /// earlier lines count.
    fn next(&mut self, control: &Control<'_>) -> Option<String> {
        self.line.clear();
        while !control.stopped() {
            let room = LINE_MAX.saturating_sub(self.line.len() as u64);
            match self.stream.by_ref().take(room).read_until(b'\n', &mut self.line) {
                Ok(_) if self.line.ends_with(b"\n") => {
                    self.line.pop();
                    return String::from_utf8(std::mem::take(&mut self.line)).ok();
                }
                // The part of a line that came before the writer stopped stays in it.
                Err(error) if is_silence(&error) => {}
                Ok(_) | Err(_) => return None,
            }
        }
        None
    }
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
