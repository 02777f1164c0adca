//! A tree of attributes below a root: `/` of this machine, or a captured copy of another one's.
//!
//! Nothing outside the root is ever opened: symbolic links are followed by hand, absolute ones
//! start at the root again, and one that leads above it is refused. Nothing is assumed to be small,
//! text, or complete. What cannot be read is recorded ([`Root::problems`]) and skipped.

mod folder;
mod memory;
mod node;
mod path;
mod record;
mod resolve;
mod waiting;
mod watchdog;

pub use node::{Entry, Node};
pub use record::{Item, Recording};
pub use watchdog::{DEADLINE, Reader, SILENT_MAX, Unanswered};

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use drivelab_core::usage::{DeviceNumber, Identity};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, StatxFlags, statx};
use serde::{Deserialize, Serialize};

use folder::{Folder, Folders, Lookup, Opened};
use path::{Ending, join, split};
use waiting::{SILENCE, Waiting, silence};

/// Maximum size of an attribute: sysfs returns at most a page (4096, or 64 KiB on some machines).
pub const ATTRIBUTE_BYTES_MAX: usize = 64 << 10;
/// Maximum size of a table in /proc: 10,000 mounts or disks of 100 bytes.
pub const TABLE_BYTES_MAX: usize = 1 << 20;
/// Maximum number of recorded problems; one more line says that there are others.
const PROBLEMS_MAX: usize = 200;
/// The beginning of problems that are due to one of these limits.
const TOO_LARGE: &str = "is larger than";
const TOO_MANY: &str = "has over";

/// A file that could not be read or understood.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The path below the root.
    pub path: String,
    /// The problem.
    pub message: String,
}

impl Problem {
    /// Returns whether the file did not answer in time.
    pub fn is_silence(&self) -> bool {
        self.message.starts_with(SILENCE)
    }

    /// Returns whether part of the file or folder was omitted because it was too large.
    pub fn is_cut(&self) -> bool {
        self.message.starts_with(TOO_LARGE) || self.message.starts_with(TOO_MANY)
    }
}

/// A tree of attributes, read-only.
#[derive(Debug)]
pub struct Root {
    base: PathBuf,
    /// The tree itself, if it is in memory.
    memory: Option<Arc<Recording>>,
    problems: RefCell<BTreeMap<String, String>>,
    /// Folders known not to be links, so that each is checked only once.
    known: RefCell<HashSet<String>>,
    folders: Folders,
    recording: Option<RefCell<Recording>>,
    /// The path that is being waited for, for the watchdog.
    waiting: Arc<Waiting>,
    /// Files that do not answer, and folders below which nothing does.
    silent: BTreeSet<String>,
}

impl Root {
    /// The tree below `base`, which contains `sys/`, `proc/` and perhaps `dmesg`.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Self {
            base: base.into(),
            memory: None,
            problems: RefCell::default(),
            known: RefCell::default(),
            folders: Folders::default(),
            recording: None,
            waiting: Arc::default(),
            silent: BTreeSet::new(),
        }
    }

    /// A tree in memory.
    pub fn of(tree: impl Into<Arc<Recording>>) -> Self {
        Self { memory: Some(tree.into()), ..Self::new("") }
    }

    /// A tree without anything in it.
    pub(crate) fn nothing() -> Self {
        Self::of(Recording::default())
    }

    /// A tree that a [`Reader`] watches; `silent` paths are skipped, and reported.
    fn watched(reader: &Reader, waiting: Arc<Waiting>) -> Self {
        let Reader { base, memory, records, silent, deadline } = reader;
        let recording = records.then(RefCell::default);
        let root = Self { recording, memory: memory.clone(), ..Self::new(base) };
        for path in silent {
            root.report(path, &silence(*deadline));
        }
        Self { waiting, silent: silent.clone(), ..root }
    }

    /// Carries out a system call. All go through here: a call may never return, so its path is
    /// recorded first, for the watchdog.
    fn ask<T>(&self, path: &str, ask: impl FnOnce() -> T) -> T {
        self.waiting.for_path(path, ask)
    }

    /// Returns whether this path, or a folder above it, has already failed to answer.
    fn is_silent(&self, path: &str) -> bool {
        self.silent.iter().any(|known| {
            path.strip_prefix(known.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// The tree below `base`, with a recording of all that is read.
    pub fn recording(base: impl Into<PathBuf>) -> Self {
        Self { recording: Some(RefCell::default()), ..Self::new(base) }
    }

    /// The path of the tree.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Returns the problems so far, by path.
    pub fn problems(&self) -> Vec<Problem> {
        let problems = self.problems.borrow();
        let entries = problems.iter();
        entries
            .map(|(path, message)| Problem { path: path.clone(), message: message.clone() })
            .collect()
    }

    /// Returns the recording of what was read so far, if there is one.
    pub fn into_recording(self) -> Recording {
        self.recording.map(RefCell::into_inner).unwrap_or_default()
    }

    /// The folder at `path` below the root, with links followed.
    pub fn node(&self, path: &str) -> Option<Node<'_>> {
        let (path, ending) = self.follow(path)?;
        (ending == Ending::Folder).then(|| Node::new(self, path))
    }

    /// The folder of all block devices.
    pub fn block_devices(&self) -> Option<Node<'_>> {
        self.node("sys/block").or_else(|| self.node("sys/class/block"))
    }

    /// The text of a file, at most `limit` bytes; a longer one is truncated.
    pub fn text(&self, path: &str, limit: usize) -> Option<String> {
        let (resolved, ending) = self.follow(path)?;
        if ending != Ending::File {
            return self.refuse(path);
        }
        let (folder, name) = split(&resolved);
        let open = self.folder(folder);
        self.content(EntryPath { open: open.as_deref(), folder, name }, path, limit)
    }

    /// The regular file at `path`, for reading in parts; a file of any length.
    pub fn file(&self, path: &str) -> Option<Box<dyn std::io::Read + '_>> {
        let (resolved, ending) = self.follow(path)?;
        if ending != Ending::File {
            self.report(path, "cannot be read: not a regular file");
            return None;
        }
        if let Some(memory) = &self.memory {
            let bytes = memory.bytes(&resolved, usize::MAX).ok()?;
            return Some(Box::new(std::io::Cursor::new(bytes)));
        }
        if self.is_silent(&resolved) {
            return None;
        }
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = self
            .ask(&resolved, || rustix::fs::open(self.base.join(&resolved), flags, Mode::empty()));
        let file = file.ok()?;
        let kind = rustix::fs::fstat(&file).ok().map(|stat| FileType::from_raw_mode(stat.st_mode));
        if kind != Some(FileType::RegularFile) {
            self.report(path, "cannot be read: not a regular file");
            return None;
        }
        Some(Box::new(Watched { root: self, path: resolved, file: file.into() }))
    }

    /// The bytes of a file, at most `limit`, for one that is not text.
    pub(crate) fn binary(&self, path: &str, limit: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        std::io::Read::take(self.file(path)?, limit as u64).read_to_end(&mut bytes).ok()?;
        if let (Some(recording), Some((path, _))) = (&self.recording, self.follow(path)) {
            recording.borrow_mut().keep(&path, Item::File(bytes.clone()));
        }
        Some(bytes)
    }

    /// Adds the text of a file to the recording, if there is one.
    pub(crate) fn record(&self, path: &str, text: impl FnOnce() -> String) {
        if let Some(recording) = &self.recording {
            recording.borrow_mut().keep(path, Item::File(text().into_bytes()));
        }
    }

    /// The text of the attribute `name` in `folder`, which is resolved and not itself a link.
    fn attribute(&self, folder: &str, name: &str) -> Option<String> {
        let open = self.folder(folder);
        let entry = EntryPath { open: open.as_deref(), folder, name };
        debug_assert!(!name.contains('/'), "the name of an attribute, not a path");
        match self.kind(entry) {
            Ok(FileType::RegularFile) => {
                self.content(entry, &join(folder, name), ATTRIBUTE_BYTES_MAX)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            // A link, or something that must be reported.
            _ => self.text(&join(folder, name), ATTRIBUTE_BYTES_MAX),
        }
    }

    /// The block device or regular file at `path`, with links followed; nothing is opened, and no
    /// server is contacted.
    pub fn identity(&self, path: &str) -> Option<Identity> {
        // Links below /proc/PID lead into other namespaces, which only the kernel can follow.
        let entry = if self.base == Path::new("/") { path.into() } else { self.follow(path)?.0 };
        if self.is_silent(path) || self.memory.is_some() {
            return None;
        }
        // DONT_SYNC: a dead network server must not be asked.
        let wanted = StatxFlags::TYPE | StatxFlags::INO;
        let found =
            self.ask(path, || statx(CWD, self.base.join(&entry), AtFlags::STATX_DONT_SYNC, wanted));
        let found = found.ok()?;
        match FileType::from_raw_mode(found.stx_mode.into()) {
            FileType::BlockDevice => {
                let (major, minor) = (found.stx_rdev_major, found.stx_rdev_minor);
                Some(Identity::Device(DeviceNumber { major, minor }))
            }
            FileType::RegularFile => {
                let (major, minor) = (found.stx_dev_major, found.stx_dev_minor);
                Some(Identity::File { device: DeviceNumber { major, minor }, inode: found.stx_ino })
            }
            _ => None,
        }
    }

    /// The folder at `path`, if it is open or worth opening.
    fn folder(&self, path: &str) -> Option<Rc<Folder>> {
        if self.memory.is_some() {
            return None;
        }
        self.folders.at(path, || self.open_folder(path))
    }

    /// The same if all of its entries are needed.
    fn listed(&self, path: &str) -> rustix::io::Result<Rc<Folder>> {
        self.folders.listed(path, || self.open_folder(path))
    }

    fn open_folder(&self, path: &str) -> Opened {
        if self.is_silent(path) {
            return Err(rustix::io::Errno::NOENT);
        }
        self.ask(path, || Folder::open(&self.base.join(path)))
    }

    /// Opening a pipe would wait for its other end; opening a device may do anything.
    fn refuse(&self, path: &str) -> Option<String> {
        self.report(path, "cannot be read: not a regular file");
        None
    }

    /// The text of a regular file; `path` is the requested one.
    fn content(&self, entry: EntryPath<'_>, path: &str, limit: usize) -> Option<String> {
        let mut bytes = match self.read(entry, limit) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => {
                self.report(path, &format!("cannot be read: {}", plain(&error)));
                return None;
            }
        };
        let cut = bytes.len() > limit;
        if cut {
            bytes.truncate(limit);
            self.report(path, &format!("{TOO_LARGE} {limit} bytes; the rest was ignored"));
        }
        // `tar` fills a file of /sys up to the size that it promised with zeros; no attribute and
        // no table contains one.
        if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
            bytes.truncate(end);
        }
        if let Some(recording) = &self.recording {
            let path = join(entry.folder, entry.name);
            recording.borrow_mut().keep(&path, Item::File(bytes.clone()));
        }
        Some(String::from_utf8(bytes).unwrap_or_else(|error| {
            let (at, bytes) = (error.utf8_error(), error.as_bytes());
            // A character split by the limit is not a fault of the file.
            if cut && at.error_len().is_none() {
                return String::from_utf8_lossy(&bytes[..at.valid_up_to()]).into_owned();
            }
            self.report(path, "is not UTF-8 text; invalid bytes were replaced");
            String::from_utf8_lossy(bytes).into_owned()
        }))
    }

    /// Records a problem with `path`.
    pub fn report(&self, path: &str, message: &str) {
        let mut problems = self.problems.borrow_mut();
        debug_assert!(problems.len() <= PROBLEMS_MAX + 1, "one more line for the rest");
        if problems.len() < PROBLEMS_MAX {
            problems.entry(path.to_owned()).or_insert_with(|| message.to_owned());
        } else {
            problems.entry("...".into()).or_insert_with(|| "there are more problems".into());
        }
    }

    /// Reads one byte more than `limit` if the file has it, so that the caller can detect a
    /// truncation.
    fn read(&self, entry: EntryPath<'_>, limit: usize) -> std::io::Result<Vec<u8>> {
        // Even if a link or pipe replaces the file after its kind was checked, the open neither
        // follows it nor waits.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let path = join(entry.folder, entry.name);
        if let Some(memory) = &self.memory {
            return memory.bytes(&path, limit);
        }
        if self.is_silent(&path) {
            return Err(ErrorKind::NotFound.into());
        }
        self.ask(&path, || {
            let file = match entry.open {
                Some(open) => rustix::fs::openat(&open.fd, entry.name, flags, Mode::empty())?,
                None => rustix::fs::open(self.path_of(entry), flags, Mode::empty())?,
            };
            read_up_to(file.into(), limit)
        })
    }

    /// Returns the kind of a file, without following a link.
    fn kind(&self, entry: EntryPath<'_>) -> std::io::Result<FileType> {
        match entry.open.map(|open| open.lookup(entry.name)) {
            Some(Lookup::Kind(kind)) => return Ok(kind),
            Some(Lookup::Missing) => return Err(ErrorKind::NotFound.into()),
            Some(Lookup::Unknown) | None => {}
        }
        let path = join(entry.folder, entry.name);
        if let Some(memory) = &self.memory {
            return memory.kind(&path);
        }
        if self.is_silent(&path) {
            return Err(ErrorKind::NotFound.into());
        }
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let about = self.ask(&path, || match entry.open {
            Some(open) => rustix::fs::statat(&open.fd, entry.name, flags),
            None => rustix::fs::lstat(self.path_of(entry)),
        })?;
        Ok(FileType::from_raw_mode(about.st_mode))
    }

    fn path_of(&self, entry: EntryPath<'_>) -> PathBuf {
        self.base.join(entry.folder).join(entry.name)
    }
}

/// A file of which each read is under the watchdog.
struct Watched<'r> {
    root: &'r Root,
    path: String,
    file: File,
}

impl std::io::Read for Watched<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.root.ask(&self.path, || self.file.read(bytes))
    }
}

/// An entry of a folder that is resolved and not itself a link.
#[derive(Clone, Copy)]
struct EntryPath<'a> {
    /// The folder, if it is open.
    open: Option<&'a Folder>,
    folder: &'a str,
    name: &'a str,
}

/// Reads to the end or one byte past `limit`. A page at once: sysfs generates its text at each
/// read.
fn read_up_to(mut file: File, limit: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut page = [0_u8; 4096];
    // The last byte, beyond the limit, distinguishes a truncated file from one of exactly that
    // size.
    while bytes.len() <= limit {
        let wanted = page.len().min(limit + 1 - bytes.len());
        debug_assert!(wanted > 0, "a read of nothing would look like the end");
        match file.read(&mut page[..wanted]) {
            Ok(0) => break,
            Ok(count) => bytes.extend_from_slice(&page[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // The first read returns a complete attribute; a table of /proc comes in parts, and 0 at
        // the end.
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
