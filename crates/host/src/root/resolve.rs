//! Following symbolic links by hand, inside the root.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use rustix::fs::FileType;

use super::{Root, plain};

/// Links followed for one path; Linux allows 40 as well (`MAXSYMLINKS`, `include/linux/namei.h`).
const LINKS_MAX: usize = 40;
/// Parts of one path; sysfs paths have some twenty.
const PARTS_MAX: usize = 256;

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Folder,
    File,
    /// A pipe, a device, a socket: nothing to be opened.
    Other,
}

/// What stands at one place.
enum Place {
    Link(String),
    Ending(Ending),
}

impl Root {
    /// The path below the root that `path` leads to, all links followed; `None` where there is
    /// nothing, or nothing inside the root.
    pub(super) fn follow(&self, path: &str) -> Option<(String, Ending)> {
        let (mut here, mut pending) = self.start(path);
        let mut ending = Ending::Folder;
        let mut links = 0;
        while let Some(part) = pending.pop() {
            if part == ".." {
                let Some(parent) = parent(&here) else {
                    self.report(path, "leads out of the root; not followed");
                    return None;
                };
                here = parent.to_owned();
                ending = Ending::Folder;
                continue;
            }
            if ending != Ending::Folder {
                return None;
            }
            let next = join(&here, &part);
            if self.folders.borrow().contains(&next) {
                here = next;
                continue;
            }
            match self.look(path, &next)? {
                Place::Ending(found) => {
                    here = next;
                    ending = found;
                }
                Place::Link(target) => {
                    links += 1;
                    if links > LINKS_MAX || pending.len() > PARTS_MAX {
                        self.report(path, "symbolic links go in a circle; not followed");
                        return None;
                    }
                    if target.starts_with('/') {
                        here.clear();
                    }
                    pending.extend(reversed(&target));
                }
            }
        }
        Some((here, ending))
    }

    /// Where to begin: most attributes are in a folder that was seen before.
    fn start(&self, path: &str) -> (String, Vec<String>) {
        match path.rsplit_once('/') {
            Some((folder, name)) if self.folders.borrow().contains(folder) => {
                (folder.to_owned(), reversed(name))
            }
            _ => (String::new(), reversed(path)),
        }
    }

    /// What stands at `place`, whose folder is resolved already; `None` where there is nothing.
    fn look(&self, asked: &str, place: &str) -> Option<Place> {
        let (folder, name) = split(place);
        let kind = match self.kind(folder, name) {
            Ok(kind) => kind,
            Err(error) => {
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    self.report(asked, &format!("cannot be reached: {}", plain(&error)));
                }
                return None;
            }
        };
        if kind == FileType::Symlink {
            return self.read_link(place).map(Place::Link);
        }
        if kind == FileType::Directory {
            self.folders.borrow_mut().insert(place.to_owned());
            if let Some(recording) = &self.recording {
                recording.borrow_mut().folder(place);
            }
            return Some(Place::Ending(Ending::Folder));
        }
        Some(Place::Ending(if kind == FileType::RegularFile {
            Ending::File
        } else {
            Ending::Other
        }))
    }

    /// The text of the link at `place`, whose folder is resolved already.
    pub(super) fn read_link(&self, place: &str) -> Option<String> {
        let target = fs::read_link(self.base.join(place)).ok()?;
        let Some(target) = Path::to_str(&target) else {
            self.report(place, "links to a name that is not text");
            return None;
        };
        if let Some(recording) = &self.recording {
            recording.borrow_mut().link(place, target);
        }
        Some(target.to_owned())
    }
}

/// The parts of a path that lead somewhere, last one first.
fn reversed(path: &str) -> Vec<String> {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let mut parts: Vec<String> = parts.take(PARTS_MAX).map(str::to_owned).collect();
    parts.reverse();
    parts
}

/// A path as folder and name.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The folder that holds `path`; `None` at the root.
pub(super) fn parent(path: &str) -> Option<&str> {
    if path.is_empty() {
        return None;
    }
    Some(path.rsplit_once('/').map_or("", |(parent, _)| parent))
}

/// `name` in `folder`.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
