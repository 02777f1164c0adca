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
    pub(super) fn folder(&mut self, path: &str) {
        self.items.entry(path.to_owned()).or_insert(Item::Folder);
    }

    pub(super) fn link(&mut self, path: &str, target: &str) {
        self.items.insert(path.to_owned(), Item::Link(target.to_owned()));
    }

    /// Keeps a file, in the folders that lead to it.
    pub(super) fn file(&mut self, path: &str, bytes: &[u8]) {
        self.items.insert(path.to_owned(), Item::File(bytes.to_vec()));
    }
}
