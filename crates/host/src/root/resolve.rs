//! Follows symbolic links by hand, inside the root.

use std::io::ErrorKind;

use rustix::fs::FileType;

use super::path::{Ending, join, parent, push, split};
use super::{Item, Place, Root, plain};

/// Maximum number of links followed for one path; Linux allows 40 as well (`MAXSYMLINKS`,
/// `include/linux/namei.h`).
const LINKS_MAX: usize = 40;
/// Longest path, links resolved; Linux allows 4096 bytes (`PATH_MAX`).
const PATH_BYTES_MAX: usize = 16 << 10;

/// What exists at one place.
enum Found {
    Link(String),
    Ending(Ending),
}

impl Root {
    /// The path below the root that `path` leads to, with all links followed; `None` if nothing
    /// exists there, or nothing inside the root.
    pub(super) fn follow(&self, path: &str) -> Option<(String, Ending)> {
        let (mut here, mut rest) = self.start(path);
        let (mut at, mut links, mut ending) = (0, 0, Ending::Folder);
        while at < rest.len() {
            let end = rest[at..].find('/').map_or(rest.len(), |length| at + length);
            let part = &rest[at..end];
            at = end + 1;
            if matches!(part, "" | ".") {
                continue;
            }
            if part == ".." {
                let Some(parent) = parent(&here) else {
                    self.report(path, "leads outside the root; not followed");
                    return None;
                };
                here.truncate(parent.len());
                ending = Ending::Folder;
                continue;
            }
            if ending != Ending::Folder {
                return None;
            }
            let before = here.len();
            push(&mut here, part);
            if self.known.borrow().contains(&here) {
                continue;
            }
            match self.look(path, &here)? {
                Found::Ending(found) => ending = found,
                Found::Link(target) => {
                    links += 1;
                    if links > LINKS_MAX || rest.len() > PATH_BYTES_MAX {
                        self.report(path, "symbolic links form a loop; not followed");
                        return None;
                    }
                    here.truncate(if target.starts_with('/') { 0 } else { before });
                    rest = join(&target, rest.get(at..).unwrap_or(""));
                    at = 0;
                }
            }
        }
        Some((here, ending))
    }

    /// Where to begin: after the longest part of `path` that was already seen.
    fn start(&self, path: &str) -> (String, String) {
        let folders = self.known.borrow();
        for (at, _) in path.rmatch_indices('/') {
            if folders.contains(&path[..at]) {
                return (path[..at].to_owned(), path[at + 1..].to_owned());
            }
        }
        (String::new(), path.to_owned())
    }

    /// What exists at `place`, whose folder is already resolved; `None` if nothing does.
    fn look(&self, asked: &str, place: &str) -> Option<Found> {
        let (folder, name) = split(place);
        let open = self.folder(folder);
        let kind = match self.kind(Place { open: open.as_deref(), folder, name }) {
            Ok(kind) => kind,
            Err(error) => {
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    self.report(asked, &format!("cannot be reached: {}", plain(&error)));
                }
                return None;
            }
        };
        if kind == FileType::Symlink {
            return self.read_link(place).map(Found::Link);
        }
        if kind == FileType::Directory {
            self.known.borrow_mut().insert(place.to_owned());
            if let Some(recording) = &self.recording {
                recording.borrow_mut().keep(place, Item::Folder);
            }
            return Some(Found::Ending(Ending::Folder));
        }
        Some(Found::Ending(if kind == FileType::RegularFile {
            Ending::File
        } else {
            Ending::Other
        }))
    }

    /// The text of the link at `place`, whose folder is already resolved.
    pub(super) fn read_link(&self, place: &str) -> Option<String> {
        if self.is_silent(place) {
            return None;
        }
        let (folder, name) = split(place);
        let target = match self.folder(folder) {
            Some(open) => self.ask(place, || rustix::fs::readlinkat(&open.fd, name, Vec::new())),
            None => self.ask(place, || rustix::fs::readlink(self.base.join(place), Vec::new())),
        };
        let target = target.ok()?;
        let Ok(target) = target.to_str() else {
            self.report(place, "links to a name that is not text");
            return None;
        };
        if let Some(recording) = &self.recording {
            recording.borrow_mut().keep(place, Item::Link(target.to_owned()));
        }
        Some(target.to_owned())
    }
}
