//! A copy of what was read.

use std::collections::BTreeMap;

/// One thing in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// A folder.
    Folder,
    /// A symbolic link and its text.
    Link(String),
    /// A file and what is in it.
    File(Vec<u8>),
}

/// All that was read of a tree, by path below its root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recording {
    /// Each path once.
    pub items: BTreeMap<String, Item>,
}

impl Recording {
    /// Keeps what lies at a path; a folder only where nothing else is known of it.
    pub(super) fn keep(&mut self, path: &str, item: Item) {
        if item != Item::Folder || !self.items.contains_key(path) {
            self.items.insert(path.to_owned(), item);
        }
    }
}
