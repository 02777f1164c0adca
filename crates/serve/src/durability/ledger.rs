//! What was promised, kept where the power cut does not reach.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use drivelab_core::{Span, Time};

use super::Written;

/// One line: what may be in a page from now on, or what must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    /// Which page.
    pub page: u64,
    /// Which write.
    pub sequence: u64,
    /// It was synced: from now on it must be there.
    pub promised: bool,
    /// When, on the writer's clock.
    pub at: Time,
}

impl Note {
    /// The line that says so.
    pub fn to_line(self) -> String {
        let kind = if self.promised { "kept" } else { "begun" };
        format!("{kind} {} {} {}\n", self.page, self.sequence, self.at.ns())
    }

    /// Reads a line.
    pub fn from_line(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let promised = match words.next()? {
            "kept" => true,
            "begun" => false,
            _ => return None,
        };
        let mut number = || words.next()?.parse().ok();
        let (page, sequence, ns) = (number()?, number()?, number()?);
        Some(Self { page, sequence, promised, at: Time::from_ns(ns) })
    }
}

/// Keeps notes.
pub trait Notes {
    /// Keeps one; what is not promised must be safe when this returns.
    fn note(&mut self, note: Note) -> io::Result<()>;

    /// That was all.
    fn close(&mut self) -> io::Result<()>;
}

/// What is known of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Promise {
    /// The newest write that was promised, and when.
    pub(super) kept: Option<(u64, Time)>,
    /// The newest write that was begun.
    pub(super) begun: u64,
}

/// What was promised in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// The run.
    pub run: u64,
    /// How many pages it had.
    pub pages: u64,
    pub(super) promises: BTreeMap<u64, Promise>,
    /// Writes that were promised.
    kept: u64,
    /// The first and the last moment that is noted.
    first: Option<Time>,
    last: Time,
}

impl Ledger {
    /// An empty ledger.
    pub fn new(run: u64, pages: u64) -> Self {
        Self { run, pages, promises: BTreeMap::new(), kept: 0, first: None, last: Time::ZERO }
    }

    /// Reads a ledger; a last line that the end of the writer cut short does not count.
    ///
    /// # Errors
    /// It cannot be read, or is none.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut lines = BufReader::new(File::open(path)?).lines();
        // Bytes that are no text are no ledger either.
        let head = lines.next().and_then(Result::ok).unwrap_or_default();
        let mut ledger = Self::from_head(&head).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "this is no ledger of `durability`")
        })?;
        for line in lines {
            if let Some(note) = Note::from_line(&line?) {
                ledger.add(note);
            }
        }
        Ok(ledger)
    }

    /// The first line of its file.
    pub fn head(&self) -> String {
        format!("drivelab-durability 1 {} {}\n", self.run, self.pages)
    }

    /// Reads the first line.
    pub fn from_head(line: &str) -> Option<Self> {
        let numbers = line.trim_end().strip_prefix("drivelab-durability 1 ")?;
        let (run, pages) = numbers.split_once(' ')?;
        Some(Self::new(run.parse().ok()?, pages.parse().ok()?))
    }

    /// Adds a note.
    pub fn add(&mut self, note: Note) {
        self.first = self.first.or(Some(note.at));
        self.last = self.last.max(note.at);
        self.kept += u64::from(note.promised);
        let blank = Promise { kept: None, begun: 0 };
        let promise = self.promises.entry(note.page).or_insert(blank);
        promise.begun = promise.begun.max(note.sequence);
        if note.promised {
            promise.kept = promise.kept.max(Some((note.sequence, note.at)));
        }
    }

    /// How much was promised, and how long that took.
    pub fn written(&self) -> Written {
        let took = self.first.map_or(Span::ZERO, |first| self.last.since(first));
        Written { promised: self.kept, took }
    }

    /// How long before the end something was.
    pub(super) fn age(&self, at: Time) -> Span {
        self.last.since(at)
    }
}

/// Notes kept in a file, which must not lie on the drive that is tested.
#[derive(Debug)]
pub struct Kept {
    file: File,
}

impl Ledger {
    /// Begins its file.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn keep_in(&self, path: &Path) -> io::Result<Kept> {
        let mut file = File::create(path)?;
        file.write_all(self.head().as_bytes())?;
        Ok(Kept { file })
    }
}

impl Notes for Kept {
    fn note(&mut self, note: Note) -> io::Result<()> {
        // The kernel has it: it survives us, and the drive under test going away.
        self.file.write_all(note.to_line().as_bytes())
    }

    fn close(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// In memory, where the drive that is cut is a model.
impl Notes for Ledger {
    fn note(&mut self, note: Note) -> io::Result<()> {
        self.add(note);
        Ok(())
    }

    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn notes_read_back(page: u64, sequence: u64, promised: bool, ns: u64) {
            let note = Note { page, sequence, promised, at: Time::from_ns(ns) };
            assert_eq!(Note::from_line(note.to_line().trim_end()), Some(note));
        }
    }
}
