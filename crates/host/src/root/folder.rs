//! Open folders of the tree: their contents, known from one listing.
//!
//! A disk is described by about sixty attributes in about ten folders. Asking the kernel for each
//! attribute by its whole path walks ten names each time, and first checking whether it exists
//! doubles the calls; an open folder that was listed once saves both.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;

use rustix::fs::{FileType, Mode, OFlags, RawDir};

/// Maximum number of entries of one folder; machines with more disks are not supported.
pub(super) const ENTRIES_MAX: usize = 16_384;
/// Number of folders kept open: the ten or so of a disk, and the classes that all disks share. The
/// usual limit of a process is 1024 open files.
const OPEN_MAX: usize = 32;
/// Look-ups in a folder before it is listed: most folders on the path to a disk are used once or
/// twice, and listing them costs more than it saves.
const LOOKUPS_FIRST: u8 = 2;

#[derive(Debug)]
pub(super) struct Folder {
    pub(super) fd: OwnedFd,
    names: HashMap<String, FileType>,
    /// Names that are not text, with replacement characters.
    pub(super) odd: Vec<String>,
    pub(super) is_cut: bool,
}

pub(super) enum Lookup {
    Kind(FileType),
    Missing,
    /// The file system does not report it, or the listing was truncated.
    Unknown,
}

impl Folder {
    /// Opens and lists the folder at `path` of this machine.
    pub(super) fn open(path: &Path) -> rustix::io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty())?;
        let (mut names, mut odd, mut is_cut) = (HashMap::new(), Vec::new(), false);
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut listed = RawDir::new(&fd, &mut buffer);
        while let Some(entry) = listed.next() {
            let entry = entry?;
            // A hostile tree could list for ever; what was read so far is used.
            if names.len() + odd.len() >= ENTRIES_MAX {
                is_cut = true;
                break;
            }
            match entry.file_name().to_str() {
                Ok("." | "..") => {}
                Ok(name) => {
                    names.insert(name.to_owned(), entry.file_type());
                }
                Err(_) => odd.push(entry.file_name().to_string_lossy().into_owned()),
            }
        }
        Ok(Self { fd, names, odd, is_cut })
    }

    pub(super) fn lookup(&self, name: &str) -> Lookup {
        match self.names.get(name) {
            Some(FileType::Unknown) => Lookup::Unknown,
            Some(kind) => Lookup::Kind(*kind),
            None if self.is_cut => Lookup::Unknown,
            None => Lookup::Missing,
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = (&String, FileType)> {
        self.names.iter().map(|(name, kind)| (name, *kind))
    }
}

/// A requested folder.
pub(super) type Opened = rustix::io::Result<Folder>;

/// The open folders, the most recently used one at the end.
#[derive(Debug, Default)]
pub(super) struct Folders {
    lookups: RefCell<HashMap<String, u8>>,
    open: RefCell<VecDeque<(String, Rc<Folder>)>>,
}

impl Folders {
    /// The folder at `path` below the root, if it is open or worth opening with `open`; `None` if
    /// its entries are looked up by their paths.
    pub(super) fn at(&self, path: &str, open: impl FnOnce() -> Opened) -> Option<Rc<Folder>> {
        let mut lookups = self.lookups.borrow_mut();
        let Some(count) = lookups.get_mut(path) else {
            lookups.insert(path.to_owned(), 1);
            return None;
        };
        debug_assert!(*count > 0, "the first look-up was counted");
        if *count < LOOKUPS_FIRST {
            *count += 1;
            return None;
        }
        drop(lookups);
        // In a folder that cannot be listed, look-ups may still work.
        self.listed(path, open).ok()
    }

    pub(super) fn listed(
        &self,
        path: &str,
        open: impl FnOnce() -> Opened,
    ) -> rustix::io::Result<Rc<Folder>> {
        if let Some(folder) = self.kept(path) {
            return Ok(folder);
        }
        // Opened outside the borrow: the call may be slow, and reports its path.
        let folder = Rc::new(open()?);
        self.lookups.borrow_mut().insert(path.to_owned(), LOOKUPS_FIRST);
        let mut kept = self.open.borrow_mut();
        debug_assert!(kept.len() <= OPEN_MAX, "each new folder closes the oldest one");
        if kept.len() >= OPEN_MAX {
            kept.pop_front();
        }
        kept.push_back((path.to_owned(), Rc::clone(&folder)));
        Ok(folder)
    }

    fn kept(&self, path: &str) -> Option<Rc<Folder>> {
        let mut open = self.open.borrow_mut();
        let index = open.iter().rposition(|(known, _)| known == path)?;
        let kept = open.remove(index)?;
        let folder = Rc::clone(&kept.1);
        open.push_back(kept);
        Some(folder)
    }
}
