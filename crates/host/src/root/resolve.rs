//! Follows symbolic links by hand, inside the root.

use std::io::ErrorKind;

use rustix::fs::FileType;

use super::path::{Ending, join, parent, push, split};
use super::{EntryPath, Item, Root, plain};

/// Maximum number of links followed for one path; Linux allows 40 as well (`MAXSYMLINKS`,
/// `include/linux/namei.h`).
const LINKS_MAX: usize = 40;
/// Longest path, links resolved; Linux allows 4096 bytes (`PATH_MAX`).
const PATH_BYTES_MAX: usize = 16 << 10;

/// The file found at a path.
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
            // Never above the root: a captured tree must not read this machine's files.
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
                    debug_assert!(before <= here.len(), "the name was appended to the folder");
                    here.truncate(if target.starts_with('/') { 0 } else { before });
                    // The rest of the path continues behind the target of the link.
                    rest = join(&target, rest.get(at..).unwrap_or(""));
                    at = 0;
                }
            }
        }
        Some((here, ending))
    }

    /// Splits `path` after the longest part that was already resolved.
    fn start(&self, path: &str) -> (String, String) {
        let folders = self.known.borrow();
        for (at, _) in path.rmatch_indices('/') {
            if folders.contains(&path[..at]) {
                return (path[..at].to_owned(), path[at + 1..].to_owned());
            }
        }
        (String::new(), path.to_owned())
    }

    /// Returns the file at `entry`, whose folder is already resolved; `None` if there is none.
    fn look(&self, asked: &str, entry: &str) -> Option<Found> {
        let (folder, name) = split(entry);
        let open = self.folder(folder);
        let kind = match self.kind(EntryPath { open: open.as_deref(), folder, name }) {
            Ok(kind) => kind,
            Err(error) => {
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    self.report(asked, &format!("cannot be reached: {}", plain(&error)));
                }
                return None;
            }
        };
        if kind == FileType::Symlink {
            return self.read_link(entry).map(Found::Link);
        }
        if kind == FileType::Directory {
            self.known.borrow_mut().insert(entry.to_owned());
            if let Some(recording) = &self.recording {
                recording.borrow_mut().keep(entry, Item::Folder);
            }
            return Some(Found::Ending(Ending::Folder));
        }
        Some(Found::Ending(if kind == FileType::RegularFile {
            Ending::File
        } else {
            Ending::Other
        }))
    }

    /// The text of the link at `entry`, whose folder is already resolved.
    pub(super) fn read_link(&self, entry: &str) -> Option<String> {
        if self.is_silent(entry) {
            return None;
        }
        let target = match &self.memory {
            Some(memory) => memory.link(entry)?,
            None => self.target(entry)?,
        };
        if let Some(recording) = &self.recording {
            recording.borrow_mut().keep(entry, Item::Link(target.clone()));
        }
        Some(target)
    }

    /// The text of a link on a disk.
    fn target(&self, entry: &str) -> Option<String> {
        let (folder, name) = split(entry);
        let target = match self.folder(folder) {
            Some(open) => self.ask(entry, || rustix::fs::readlinkat(&open.fd, name, Vec::new())),
            None => self.ask(entry, || rustix::fs::readlink(self.base.join(entry), Vec::new())),
        };
        let target = target.ok()?;
        let text = target.to_str();
        if text.is_err() {
            self.report(entry, "links to a name that is not text");
        }
        text.ok().map(str::to_owned)
    }
}
