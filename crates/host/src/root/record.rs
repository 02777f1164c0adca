//! A copy of what was read.

use std::collections::BTreeMap;

/// An item of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A folder.
    Folder,
    /// A symbolic link and its text.
    Link(String),
    /// A file and its content.
    File(Vec<u8>),
}

/// Everything that was read of a tree, by path below its root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// Each path once.
    pub items: BTreeMap<String, Item>,
}

impl Recording {
    /// Records the item at a path; a folder only if nothing else is recorded for it.
    pub(super) fn keep(&mut self, path: &str, item: Item) {
        debug_assert!(!path.starts_with('/'), "paths are relative to the root");
        if item != Item::Folder || !self.items.contains_key(path) {
            self.items.insert(path.to_owned(), item);
        }
    }
}
