//! The ledger on another machine, for when the plug of this one is pulled.
//!
//! Lines over TCP: the head of the ledger, then its notes; a note that something was begun is
//! answered with `ok` once it is in the other machine's file.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use super::ledger::{Ledger, Note, Notes};

/// Notes kept by another machine.
#[derive(Debug)]
pub struct Remote {
    stream: BufReader<TcpStream>,
}

impl Remote {
    /// Connects to the keeper at `address` and begins a ledger there.
    ///
    /// # Errors
    /// Nobody is there.
    pub fn connect(address: &str, ledger: &Ledger) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.write_all(ledger.head().as_bytes())?;
        Ok(Self { stream: BufReader::new(stream) })
    }
}

impl Notes for Remote {
    fn note(&mut self, note: Note) -> io::Result<()> {
        self.stream.get_mut().write_all(note.to_line().as_bytes())?;
        if note.promised {
            return Ok(());
        }
        let mut answer = String::new();
        self.stream.read_line(&mut answer)?;
        if answer == "ok\n" { Ok(()) } else { Err(io::ErrorKind::ConnectionAborted.into()) }
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps the ledger of one writer in the file at `path`, until the writer goes away.
///
/// # Errors
/// The file cannot be written, or what connects is no writer.
pub fn keep_for_others(listener: &TcpListener, path: &Path) -> io::Result<u64> {
    let (stream, _) = listener.accept()?;
    let mut answers = stream.try_clone()?;
    let mut lines = BufReader::new(stream).lines();
    let head = lines.next().transpose()?.unwrap_or_default();
    let ledger = Ledger::from_head(&head)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "this is no writer of pages"))?;
    let mut kept = ledger.keep_in(path)?;
    let mut notes = 0;
    // A writer whose plug was pulled ends with an error or not at all: what came before counts.
    while let Some(Ok(line)) = lines.next() {
        let Some(note) = Note::from_line(&line) else { break };
        kept.note(note)?;
        notes += 1;
        if !note.promised && answers.write_all(b"ok\n").is_err() {
            break;
        }
    }
    kept.close()?;
    Ok(notes)
}
