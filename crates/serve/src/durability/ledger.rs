//! The promises, kept where the power cut does not reach.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use drivelab_core::verification::{BlockAccount, PromiseRate, sealed, unsealed};
use drivelab_core::{Span, Time};
use drivelab_files::Target;

use super::PAGE_BYTES;

/// The longest accepted line: a path of 4096 bytes (`PATH_MAX`), of which each may take six in
/// JSON, and a few numbers; but a file or a client could contain anything.
pub(super) const LINE_MAX: u64 = 32 << 10;
/// The page after the end of the longest file (`off_t`).
const PAGES_MAX: u64 = i64::MAX as u64 / PAGE_BYTES as u64;
/// Maximum number of pages kept in memory during verification: 256 GiB of them, in one GiB.
const NOTED_MAX: usize = 1 << 24;

/// One line: the write that a page may contain, or must contain, from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    /// The page.
    pub page: u64,
    /// The number of the write.
    pub sequence: u64,
    /// True if the write was synced, so that the page must contain it.
    pub promised: bool,
    /// Its time, on the writer's clock.
    pub at: Time,
}

impl Note {
    /// Returns its line in a ledger.
    pub(crate) fn to_line(self) -> String {
        let kind = if self.promised { "kept" } else { "begun" };
        sealed(&format!("{kind} {} {} {}", self.page, self.sequence, self.at.ns()))
    }

    fn from_words(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let promised = match words.next()? {
            "kept" => true,
            "begun" => false,
            _ => return None,
        };
        let page = words.next()?.parse().ok()?;
        let sequence = words.next()?.parse().ok()?;
        let ns = words.next()?.parse().ok()?;
        if words.next().is_some() {
            return None;
        }
        Some(Self { page, sequence, promised, at: Time::from_ns(ns) })
    }
}

/// Records notes.
pub trait Notes {
    /// Records one; a note that is not yet a promise must be safe when this returns.
    fn note(&mut self, note: Note) -> io::Result<()>;

    /// Ends the ledger.
    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The state of one page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Promise {
    /// The newest write that was begun, and the newest that was promised.
    pub(super) account: BlockAccount,
    /// Time of the newest promise.
    pub(super) at: Time,
}

/// The promises of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    /// The run.
    pub run: u64,
    /// Number of its pages.
    pub pages: u64,
    /// The file or device of the pages, from the root on; empty for a modelled drive.
    pub target: String,
    pub(super) promises: BTreeMap<u64, Promise>,
    kept: u64,
    /// The first and the last recorded time.
    first: Option<Time>,
    last: Time,
}

impl Ledger {
    /// An empty ledger.
    pub fn new(run: u64, pages: u64) -> Self {
        let (target, promises) = (String::new(), BTreeMap::new());
        Self { run, pages, target, promises, kept: 0, first: None, last: Time::ZERO }
    }

    /// The same of the pages in `target`.
    #[must_use]
    pub fn with_target(self, target: &Path) -> Self {
        let target = std::path::absolute(target).unwrap_or_else(|_| target.to_owned());
        Self { target: target.to_string_lossy().into_owned(), ..self }
    }

    /// True if it is of a regular file that still exists, and `target` is another one.
    ///
    /// A device may have another name after a restart, and a file may be mounted elsewhere: then
    /// nothing of the old name is there, and it is not known.
    pub fn is_of_other(&self, target: &Path) -> bool {
        let Ok(own) = Path::new(&self.target).metadata() else { return false };
        let is_same = target
            .metadata()
            .is_ok_and(|other| (own.dev(), own.ino()) == (other.dev(), other.ino()));
        own.is_file() && !is_same
    }

    /// Reads a ledger; a last line that was cut off by the end of the writer does not count.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut lines = Lines { text: BufReader::new(File::open(path)?), number: 0 };
        // Bytes that are not text are not a ledger either.
        let head = lines.next().and_then(Result::ok).unwrap_or_default();
        let mut ledger = Self::from_head(&head).ok_or_else(|| invalid(NO_LEDGER.into()))?;
        if !ledger.fits_a_file() {
            let what = format!("line 1: {} pages are more than any file holds", ledger.pages);
            return Err(invalid(what));
        }
        while let Some(line) = lines.next() {
            let number = lines.number;
            let note = Self::note_of(&line?).ok_or_else(|| {
                invalid(format!("line {number}: this is not a ledger entry, or it is damaged"))
            })?;
            if note.page >= ledger.pages {
                let (page, pages) = (note.page, ledger.pages);
                return Err(invalid(format!(
                    "line {number}: page {page} is not one of its {pages} pages"
                )));
            }
            ledger.add(note);
            if ledger.promises.len() > NOTED_MAX {
                return Err(invalid(format!(
                    "line {number}: it lists more than {NOTED_MAX} pages"
                )));
            }
        }
        Ok(ledger)
    }

    pub(super) fn fits_a_file(&self) -> bool {
        self.pages <= PAGES_MAX
    }

    /// The first line of its file.
    pub fn head(&self) -> String {
        // As JSON, in which a line break of a name is two characters.
        let target = serde_json::Value::from(self.target.as_str());
        sealed(&format!("drivelab-durability 3 {} {} {target}", self.run, self.pages))
    }

    /// Reads the first line.
    pub(crate) fn from_head(line: &str) -> Option<Self> {
        let words = unsealed(line.trim_end())?.strip_prefix("drivelab-durability 3 ")?;
        let mut words = words.splitn(3, ' ');
        let (run, pages) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let target = serde_json::from_str(words.next()?).ok()?;
        Some(Self { target, ..Self::new(run, pages) })
    }

    /// Reads a note; `None` if it is damaged.
    pub(crate) fn note_of(line: &str) -> Option<Note> {
        Note::from_words(unsealed(line)?)
    }

    /// Adds a note.
    pub fn add(&mut self, note: Note) {
        debug_assert!(note.page < self.pages, "a note is about a page of this run");
        self.first = self.first.or(Some(note.at));
        self.last = self.last.max(note.at);
        self.kept += u64::from(note.promised);
        let Promise { account, at } = self.promises.entry(note.page).or_default();
        // Maxima, so that the result does not depend on the order of the lines.
        account.newest = account.newest.max(note.sequence);
        if note.promised && (note.sequence, note.at) > (account.durable, *at) {
            (account.durable, *at) = (note.sequence, note.at);
        }
    }

    /// Number of promises, and the time that they took.
    pub fn pace(&self) -> PromiseRate {
        let took = self.first.map_or(Span::ZERO, |first| self.last.since(first));
        PromiseRate { promised: self.kept, took }
    }

    /// Returns the time between `at` and the end of the run.
    pub(super) fn age(&self, at: Time) -> Span {
        self.last.since(at)
    }
}

/// Notes kept in a file, which must not be on the drive under test.
#[derive(Debug)]
pub struct LedgerFile {
    file: File,
}

impl Ledger {
    /// Creates its file, which is on the disk when this returns. It may replace only an earlier
    /// ledger of the same target, or of one that is gone.
    pub fn keep_in(&self, path: &Path) -> io::Result<LedgerFile> {
        let target = Target::find(path)?;
        let mut file = target.open_or_create()?;
        if file.metadata()?.is_file() {
            // Locked before it is truncated, so that the ledger of a running test survives.
            if let Err(std::fs::TryLockError::WouldBlock) = file.try_lock() {
                let what = "another drivelab is writing to this ledger";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
            }
            may_be_replaced(&file, Some(Path::new(&self.target)))?;
            file.set_len(0)?;
            file.seek(SeekFrom::Start(0))?;
        }
        file.write_all(self.head().as_bytes())?;
        // A pipe or `/dev/null` cannot be synced.
        let _ = file.sync_all();
        // The entry in the folder must be durable too, or the file could vanish with the power.
        let _ = target.sync_folder();
        Ok(LedgerFile { file })
    }
}

/// Refuses to begin a ledger in a file that contains anything but an earlier one, or one that a
/// file other than `target` still needs.
pub(super) fn may_be_replaced(file: &File, target: Option<&Path>) -> io::Result<()> {
    if file.metadata()?.len() == 0 {
        return Ok(());
    }
    let mut lines = Lines { text: BufReader::new(file), number: 0 };
    let head = lines.next().and_then(Result::ok);
    let Some(earlier) = head.and_then(|head| Ledger::from_head(&head)) else {
        return Err(invalid(format!("{NO_LEDGER}, and would be overwritten")));
    };
    if target.is_some_and(|target| earlier.is_of_other(target)) {
        let what = format!("this is the ledger of {}, which still exists", earlier.target);
        return Err(invalid(what));
    }
    Ok(())
}

const NO_LEDGER: &str = "this is not a ledger of `durability`, or its first line is damaged";

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// The lines of a ledger, each of limited length.
struct Lines<R> {
    text: BufReader<R>,
    /// Number of the line read last, from 1.
    number: u64,
}

impl<R: io::Read> Lines<R> {
    /// The next complete line. After a power failure of its machine, a file may end in the middle
    /// of a line, or in zeros.
    fn next(&mut self) -> Option<io::Result<String>> {
        self.number += 1;
        let mut line = Vec::new();
        if let Err(error) = self.text.by_ref().take(LINE_MAX).read_until(b'\n', &mut line) {
            return Some(Err(error));
        }
        if line.pop_if(|byte| *byte == b'\n').is_some() {
            let number = self.number;
            return Some(
                String::from_utf8(line).map_err(|_| invalid(format!("line {number}: not text"))),
            );
        }
        // A writer that lost its power leaves a part of a line, or a block of zeros.
        let cut_off = (line.len() as u64) < LINE_MAX || line.iter().all(|byte| *byte == 0);
        if cut_off {
            return None;
        }
        Some(Err(invalid(format!("line {}: it is longer than {LINE_MAX} bytes", self.number))))
    }
}

impl Notes for LedgerFile {
    fn note(&mut self, note: Note) -> io::Result<()> {
        // The kernel has it: it survives this process, and the loss of the drive under test.
        self.file.write_all(note.to_line().as_bytes())
    }

    fn close(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// In memory, if the drive that is cut is a model.
impl Notes for Ledger {
    fn note(&mut self, note: Note) -> io::Result<()> {
        self.add(note);
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
            let ledger = Ledger::new(1, 1).with_target(Path::new("/a\nname \"of\" two"));
            assert_eq!(Ledger::note_of(note.to_line().trim_end()), Some(note));
            assert_eq!(Ledger::from_head(&ledger.head()), Some(ledger));
        }
    }

    #[test]
    fn no_flipped_bit_of_a_ledger_is_taken_for_what_was_promised() {
        let note = Note { page: 7, sequence: 31, promised: true, at: Time::from_ns(1_234_567) };
        let ledger = Ledger::new(42, 4096);
        let flipped = |line: &str, bit: usize| {
            let mut line = line.trim_end().as_bytes().to_vec();
            line[bit / 8] ^= 1 << (bit % 8);
            String::from_utf8(line).ok()
        };
        let (line, head) = (note.to_line(), ledger.head());
        for bit in 0..(line.len() - 1) * 8 {
            let read = flipped(&line, bit).and_then(|line| Ledger::note_of(&line));
            assert_eq!(read, None, "bit {bit} of a note");
        }
        for bit in 0..(head.len() - 1) * 8 {
            let read = flipped(&head, bit).and_then(|head| Ledger::from_head(&head));
            assert_eq!(read, None, "bit {bit} of the head");
        }
    }

    #[test]
    fn lines_without_a_checksum_are_not_read() {
        assert_eq!(Ledger::from_head("drivelab-durability 3 7 4 \"\"\n"), None);
        assert_eq!(Ledger::note_of("begun 1 1 10"), None);
    }
}
