//! A folder of attributes.

use std::io::ErrorKind;
use std::str::FromStr;

use rustix::fs::FileType;

use super::folder::ENTRIES_MAX;
use super::path::{join, parent};
use super::{ATTRIBUTE_BYTES_MAX, EntryPath, Item, Root, TOO_MANY, plain};

/// A folder of the tree; its path contains no links.
#[derive(Debug, Clone)]
pub struct Node<'r> {
    root: &'r Root,
    path: String,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// True for a folder, or a link (to a folder, in sysfs).
    pub folder: bool,
}

impl<'r> Node<'r> {
    pub(super) fn new(root: &'r Root, path: String) -> Self {
        Self { root, path }
    }

    /// Its path below the root.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The last part of its path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or("")
    }

    /// The tree it is in.
    pub fn root(&self) -> &'r Root {
        self.root
    }

    /// The parent folder.
    pub fn parent(&self) -> Option<Self> {
        parent(&self.path).map(|path| Self::new(self.root, path.to_owned()))
    }

    /// The folder itself, its parent, and so on to the root.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(Some(self.clone()), Self::parent)
    }

    /// The folder `name` in it, with links followed.
    pub fn child(&self, name: &str) -> Option<Self> {
        self.root.node(&join(&self.path, name))
    }

    /// An attribute as text without surrounding white space; `None` if absent or empty.
    pub fn text(&self, name: &str) -> Option<String> {
        self.lines(name).map(|text| printable(text.trim())).filter(|text| !text.is_empty())
    }

    /// An attribute of several lines, unchanged.
    pub fn lines(&self, name: &str) -> Option<String> {
        if name.contains('/') {
            return self.root.text(&join(&self.path, name), ATTRIBUTE_BYTES_MAX);
        }
        self.root.attribute(&self.path, name)
    }

    /// An attribute that is not text.
    pub(crate) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        self.root.binary(&join(&self.path, name), ATTRIBUTE_BYTES_MAX)
    }

    /// An attribute that is a number; anything else is reported.
    pub fn number<T: FromStr>(&self, name: &str) -> Option<T> {
        // An empty file is a copy of one that the kernel refused to read.
        let text = printable(self.lines(name)?.trim());
        if text.is_empty() {
            return None;
        }
        let number = text.parse().ok();
        if number.is_none() {
            self.misread(name, "a number", &text);
        }
        number
    }

    /// An attribute that is 0 or 1.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.number::<u64>(name).map(|number| number != 0)
    }

    /// An attribute in hexadecimal, with or without `0x`.
    pub fn hex(&self, name: &str) -> Option<u32> {
        let text = printable(self.lines(name)?.trim());
        if text.is_empty() {
            return None;
        }
        let number = u32::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        if number.is_none() {
            self.misread(name, "a hexadecimal number", &text);
        }
        number
    }

    /// Returns whether the kernel keeps it active: a sleeping device is not woken up. A kernel
    /// without run-time power management reports nothing, and puts no device to sleep.
    pub fn is_awake(&self) -> bool {
        let status = self.text("power/runtime_status");
        status.is_none_or(|status| matches!(status.as_str(), "active" | "unsupported"))
    }

    /// Reports an attribute with an unexpected value.
    pub(crate) fn misread(&self, name: &str, wanted: &str, text: &str) {
        // Attributes come from devices and captures: a long one must not fill the screen.
        let shown: String = text.chars().take(40).collect();
        self.root.report(&join(&self.path, name), &format!("should hold {wanted}: `{shown}`"));
    }

    /// The last part of the target of the link `name`, whether or not that exists.
    pub(crate) fn link_name(&self, name: &str) -> Option<String> {
        let target = self.root.read_link(&join(&self.path, name))?;
        Some(printable(target.trim_end_matches('/').rsplit('/').next().unwrap_or("")))
    }

    /// Its entries, by name.
    pub fn entries(&self) -> Vec<Entry> {
        let root = self.root;
        if let Some(memory) = &root.memory {
            let listed = memory.entries(&self.path).into_iter().take(ENTRIES_MAX);
            let entries = listed.map(|(name, kind)| {
                let folder = matches!(kind, FileType::Directory | FileType::Symlink);
                Entry { name, folder }
            });
            let entries: Vec<Entry> = entries.collect();
            self.record(&entries);
            return entries;
        }
        let listed = match root.listed(&self.path) {
            Ok(listed) => listed,
            Err(error) => {
                let error = std::io::Error::from(error);
                if error.kind() != ErrorKind::NotFound {
                    root.report(&self.path, &format!("cannot be listed: {}", plain(&error)));
                }
                return Vec::new();
            }
        };
        if listed.is_cut {
            root.report(&self.path, &format!("{TOO_MANY} {ENTRIES_MAX} entries"));
        }
        for name in &listed.odd {
            root.report(&join(&self.path, name), "has a name that is not text");
        }
        let mut entries = Vec::new();
        for (name, kind) in listed.names() {
            let kind = match kind {
                FileType::Unknown => {
                    let entry = EntryPath { open: Some(&listed), folder: &self.path, name };
                    root.kind(entry).unwrap_or(kind)
                }
                kind => kind,
            };
            let folder = matches!(kind, FileType::Directory | FileType::Symlink);
            entries.push(Entry { name: name.clone(), folder });
        }
        // The order of a listing is arbitrary, and the output must not depend on it.
        entries.sort();
        self.record(&entries);
        entries
    }

    /// The names of the folders and links in it.
    pub fn folders(&self) -> Vec<String> {
        let folders = self.entries().into_iter().filter(|entry| entry.folder);
        folders.map(|entry| entry.name).collect()
    }

    /// A copy of the tree must list the same folders and links.
    fn record(&self, entries: &[Entry]) {
        let Some(recording) = &self.root.recording else { return };
        for entry in entries.iter().filter(|entry| entry.folder) {
            let entry = join(&self.path, &entry.name);
            if self.root.read_link(&entry).is_none() {
                recording.borrow_mut().keep(&entry, Item::Folder);
            }
        }
    }
}

/// Text without control sequences for a terminal, nor signs that change the direction of writing:
/// the drive controls its own name.
fn printable(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { '?' } else { c }).collect()
}

fn is_hidden(c: char) -> bool {
    let turns = ['\u{200b}'..='\u{200f}', '\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}'];
    c.is_control() && c != '\n' || turns.iter().any(|range| range.contains(&c))
}
