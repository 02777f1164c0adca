//! A file of lines, one for each finished item.
//!
//! Each line is a JSON object that ends in a checksum of itself and of its owner. A line is on the
//! disk before [`Journal::append`] returns. The rest of a last line after a kill or a power cut,
//! and lines that were damaged later, are distinguished from whole ones; they stay in the file,
//! except that a line without its end makes room for the next.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use drivelab_core::Refusal;

use super::AtPath as _;
use super::durable::KeptFolder;
use drivelab_core::Control;

/// The text between a line's content and its checksum.
const KEY: &str = ",\"crc32\":\"";
/// The text after the checksum.
const END: &str = "\"}";
/// Digits of a CRC-32 in hexadecimal.
const DIGITS: usize = 8;

/// The owner of a line: its checksum holds for no other owner.
#[derive(Debug, Clone)]
pub struct Owner(crc32fast::Hasher);

/// The result of checking the checksum of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// The line is as it was written, and belongs to the owner.
    Whole,
    /// It is neither.
    Broken,
    /// It has none, as in folders of versions before checksums.
    Absent,
}

impl Owner {
    /// The owner that `parts` describe.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        for part in parts {
            // With lengths, so that `ab`, `c` and `a`, `bc` are different owners.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher)
    }

    /// Adds the checksum to a JSON object.
    pub fn seal(&self, object: &str) -> String {
        let open = object.strip_suffix('}').expect("an object ends in a brace");
        format!("{open}{KEY}{}{END}", self.sum(open.as_bytes()))
    }

    /// Checks the checksum at the end of `line`.
    pub fn check(&self, line: &[u8]) -> Seal {
        let Some(end) = line.len().checked_sub(KEY.len() + DIGITS + END.len()) else {
            return Seal::Absent;
        };
        let (open, tail) = line.split_at(end);
        let Some(rest) = tail.strip_prefix(KEY.as_bytes()) else { return Seal::Absent };
        let expected = self.sum(open);
        match rest.strip_prefix(expected.as_bytes()) {
            Some(rest) if rest == END.as_bytes() => Seal::Whole,
            _ => Seal::Broken,
        }
    }

    fn sum(&self, content: &[u8]) -> String {
        let mut hasher = self.0.clone();
        hasher.update(content);
        format!("{:08x}", hasher.finalize())
    }
}

/// A line of the file.
#[derive(Debug)]
pub struct Line {
    /// Counted from 1.
    pub number: usize,
    /// Without the line break.
    pub text: Vec<u8>,
    /// True if the line break is there.
    pub ended: bool,
}

/// An open journal, which no other process can open.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Offset of the next line.
    end: u64,
}

impl Journal {
    /// Opens the journal of that name; it is made where it does not exist.
    pub fn open(folder: &KeptFolder, name: &str) -> Result<Self, Refusal> {
        let path = &folder.path().join(name);
        let file = folder.append(name).at_path("open", path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let folder = path.parent().unwrap_or(path).display();
                let message = format!("another drivelab process is using `{folder}`");
                return Err(Refusal::request(message)
                    .hint("wait for it, or choose another folder: --out DIR"));
            }
            Err(TryLockError::Error(error)) => return Err(error).at_path("lock", path),
        }
        // The name must survive a power cut, too, or the first lines would be lost with it.
        file.sync_all().and_then(|()| folder.sync()).at_path("open", path)?;
        let end = file.metadata().at_path("read", path)?.len();
        Ok(Self { path: path.to_owned(), file, end })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Every line; the next one is appended behind the last that is ended.
    pub fn lines(&mut self) -> Result<Vec<Line>, Refusal> {
        let mut content = Vec::new();
        self.file.seek(SeekFrom::Start(0)).at_path("read", &self.path)?;
        self.file.read_to_end(&mut content).at_path("read", &self.path)?;
        let lines =
            content.split_inclusive(|byte| *byte == b'\n').zip(1..).map(|(line, number)| {
                let text = line.strip_suffix(b"\n");
                Line { number, text: text.unwrap_or(line).to_vec(), ended: text.is_some() }
            });
        let lines: Vec<Line> = lines.collect();
        debug_assert!(lines.iter().rev().skip(1).all(|line| line.ended));
        let torn = lines.last().filter(|line| !line.ended).map_or(0, |line| line.text.len());
        self.end = (content.len() - torn) as u64;
        Ok(lines)
    }

    /// Adds a line, or several with a break between each two; all are on the disk when this
    /// returns.
    pub fn append(&mut self, line: &str, control: &Control<'_>) -> Result<(), Refusal> {
        let _whole = control.shield();
        // What a killed process left of a line is cut off first, so that ours begins a line.
        let mut write = || {
            if self.file.metadata()?.len() > self.end {
                self.file.set_len(self.end)?;
            }
            self.file.write_all(format!("{line}\n").as_bytes())?;
            // It writes the length as well, which is needed to read the line (`man 2 fdatasync`).
            self.file.sync_data()
        };
        write().at_path("append to", &self.path)?;
        self.end += line.len() as u64 + 1;
        Ok(())
    }

    /// Removes every line.
    pub fn clear(&mut self) -> Result<(), Refusal> {
        self.end = 0;
        self.file.set_len(0).and_then(|()| self.file.sync_all()).at_path("empty", &self.path)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // A program that is being started has its copy of this file until it replaces the fork, and
        // with the copy the lock. Where unlocking fails, closing the file is what remains.
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_breaks_the_seal() {
        let owner = Owner::of(&[b"study", b"plan"]);
        let line = owner.seal("{\"iops\":105.76666666666667}");
        assert_eq!(owner.check(line.as_bytes()), Seal::Whole);
        for place in 0..line.len() * 8 {
            let mut flipped = line.clone().into_bytes();
            flipped[place / 8] ^= 1 << (place % 8);
            assert_ne!(owner.check(&flipped), Seal::Whole, "bit {place}");
        }
        let json: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(json["iops"], 105.766_666_666_666_67);
    }

    #[test]
    fn a_line_belongs_to_one_owner() {
        let line = Owner::of(&[b"ab", b"c"]).seal("{\"a\":1}");
        assert_eq!(Owner::of(&[b"a", b"bc"]).check(line.as_bytes()), Seal::Broken);
        assert_eq!(Owner::of(&[]).check(b"{\"a\":1}"), Seal::Absent);
        assert_eq!(Owner::of(&[]).check(b""), Seal::Absent);
    }

    #[test]
    fn a_torn_line_makes_room_for_the_next_and_for_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        std::fs::write(&path, "{\"a\":1}\nXX\n{\"a\":").unwrap();
        let kept = KeptFolder::open(folder.path()).unwrap();
        let open = || Journal::open(&kept, "runs.jsonl");
        let mut journal = open().unwrap();
        let lines = journal.lines().unwrap();
        let ended: Vec<bool> = lines.iter().map(|line| line.ended).collect();
        assert_eq!(ended, [true, true, false]);
        assert_eq!(std::fs::read(&path).unwrap().len(), 16, "reading changes nothing");
        journal.append("{\"a\":2}", &Control::unattended()).unwrap();
        journal.append("{\"a\":3}", &Control::unattended()).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"{\"a\":1}\nXX\n{\"a\":2}\n{\"a\":3}\n");
        assert!(open().is_err(), "one process at a time");
        // As in a program that another thread is starting.
        let copy = journal.file.try_clone().unwrap();
        drop(journal);
        assert_eq!(open().unwrap().lines().unwrap().len(), 4);
        drop(copy);
    }
}
