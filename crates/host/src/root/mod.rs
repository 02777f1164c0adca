//! A tree of attributes below a root: `/` of this machine, or a captured copy of another's.
//!
//! Nothing outside the root is ever opened: symbolic links are followed by hand, absolute ones
//! start at the root again, and one that climbs above it is refused. Nothing is trusted to be
//! small, text, or finished. What cannot be read is noted ([`Root::problems`]) and left out.

mod node;
mod record;
mod resolve;

pub use node::{Entry, Node};
pub use record::{Item, Recording};

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use serde::{Deserialize, Serialize};

use resolve::Ending;

/// Most bytes of one attribute: sysfs gives at most a page (4096, or 64 KiB on some machines).
pub const ATTRIBUTE_BYTES_MAX: usize = 64 << 10;
/// Most bytes of one table in /proc: 10,000 mounts or disks of 100 bytes.
pub const TABLE_BYTES_MAX: usize = 1 << 20;
/// Most bytes of a kernel log; the ring buffer of a large machine is some megabytes.
pub const LOG_BYTES_MAX: usize = 16 << 20;
/// Most problems that are kept; one more line says that there are others.
const PROBLEMS_MAX: usize = 200;

/// Something that could not be read, or not be understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The path below the root.
    pub path: String,
    /// What is the matter with it.
    pub message: String,
}

/// A tree of attributes, read-only.
#[derive(Debug)]
pub struct Root {
    base: PathBuf,
    problems: RefCell<BTreeMap<String, String>>,
    /// Folders that were seen to be no links, so that they are asked after only once.
    folders: RefCell<HashSet<String>>,
    /// The folder that was read from last: attributes are read folder by folder, and from an open
    /// one the kernel need not walk a path of ten names for each. Opened at the second attribute.
    open: RefCell<Option<(String, Option<Rc<OwnedFd>>)>>,
    recording: Option<RefCell<Recording>>,
}

impl Root {
    /// The tree below `base`, which holds `sys/`, `proc/` and perhaps `dmesg`.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Self {
            base: base.into(),
            problems: RefCell::default(),
            folders: RefCell::default(),
            open: RefCell::default(),
            recording: None,
        }
    }

    /// The same, keeping a copy of all that is read.
    pub fn recording(base: impl Into<PathBuf>) -> Self {
        Self { recording: Some(RefCell::default()), ..Self::new(base) }
    }

    /// Where the tree lies.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// What could not be read so far, by path.
    pub fn problems(&self) -> Vec<Problem> {
        let problems = self.problems.borrow();
        let entries = problems.iter();
        entries
            .map(|(path, message)| Problem { path: path.clone(), message: message.clone() })
            .collect()
    }

    /// What was read so far, where this root keeps it.
    pub fn into_recording(self) -> Recording {
        self.recording.map(RefCell::into_inner).unwrap_or_default()
    }

    /// The folder at `path` below the root, links followed.
    pub fn node(&self, path: &str) -> Option<Node<'_>> {
        let (path, ending) = self.follow(path)?;
        (ending == Ending::Folder).then(|| Node::new(self, path))
    }

    /// The text of a file of at most `limit` bytes; of a longer one, what comes first.
    pub fn text(&self, path: &str, limit: usize) -> Option<String> {
        let (resolved, ending) = self.follow(path)?;
        if ending != Ending::File {
            // Opening a pipe would wait for its other end; opening a device may do anything.
            self.report(path, "cannot be read: it is no regular file");
            return None;
        }
        let bytes = match self.read(&resolved, limit) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => {
                self.report(path, &format!("cannot be read: {}", plain(&error)));
                return None;
            }
        };
        let (bytes, cut) = (&bytes[..bytes.len().min(limit)], bytes.len() > limit);
        if cut {
            self.report(path, &format!("is larger than {limit} bytes; the rest was left out"));
        }
        if let Some(recording) = &self.recording {
            recording.borrow_mut().file(&resolved, bytes);
        }
        Some(match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            // A character cut in two by the limit is no fault of the file.
            Err(error) if cut && error.error_len().is_none() => {
                String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned()
            }
            Err(_) => {
                self.report(path, "is not text (UTF-8); what is not was replaced");
                String::from_utf8_lossy(bytes).into_owned()
            }
        })
    }

    /// Notes that something is wrong with `path`.
    pub fn report(&self, path: &str, message: &str) {
        let mut problems = self.problems.borrow_mut();
        if problems.len() < PROBLEMS_MAX {
            problems.entry(path.to_owned()).or_insert_with(|| message.to_owned());
        } else {
            problems.entry("...".into()).or_insert_with(|| "there are more problems".into());
        }
    }

    /// One byte more than `limit` where the file has it, so that the caller can tell.
    fn read(&self, resolved: &str, limit: usize) -> std::io::Result<Vec<u8>> {
        let (folder, name) = resolve::split(resolved);
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match self.open(folder)? {
            Some(open) => rustix::fs::openat(open, name, flags, Mode::empty())?,
            None => rustix::fs::open(self.base.join(resolved), flags, Mode::empty())?,
        };
        read_up_to(file.into(), limit)
    }

    /// What `name` in `folder` (resolved, and no link itself) is, without following it.
    fn kind(&self, folder: &str, name: &str) -> std::io::Result<FileType> {
        let follow = AtFlags::SYMLINK_NOFOLLOW;
        let about = match &*self.open.borrow() {
            Some((path, Some(open))) if path == folder => rustix::fs::statat(open, name, follow)?,
            _ => rustix::fs::lstat(self.base.join(folder).join(name))?,
        };
        Ok(FileType::from_raw_mode(about.st_mode))
    }

    /// A folder, opened for looking things up in it; `None` at the first time in a row.
    fn open(&self, folder: &str) -> std::io::Result<Option<Rc<OwnedFd>>> {
        let mut last = self.open.borrow_mut();
        let Some((path, open)) = last.as_mut().filter(|(path, _)| path == folder) else {
            *last = Some((folder.to_owned(), None));
            return Ok(None);
        };
        if open.is_none() {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let path = self.base.join(path.as_str());
            *open = Some(Rc::new(rustix::fs::open(path, flags, Mode::empty())?));
        }
        Ok(open.clone())
    }
}

/// Reads to the end or one byte past `limit`. A page at once: sysfs makes its text at each read.
fn read_up_to(mut file: File, limit: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut page = [0_u8; 4096];
    while bytes.len() <= limit {
        let wanted = page.len().min(limit + 1 - bytes.len());
        match file.read(&mut page[..wanted]) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&page[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // An attribute comes whole at the first read; a table of /proc in parts, and 0 at the end.
        if limit == ATTRIBUTE_BYTES_MAX && bytes.len() < 1024 && bytes.ends_with(b"\n") {
            break;
        }
    }
    Ok(bytes)
}

/// An error of the system without its number.
fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
