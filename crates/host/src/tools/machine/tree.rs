//! A tree of `sysfs` as far as the output of other tools shows it.

use std::collections::BTreeMap;

use crate::device::UNKNOWN_FILE_SYSTEM;
use crate::root::{Item, Recording};

/// Maximum number of items; a machine with 1,000 disks has some 30,000.
const ITEMS_MAX: usize = 1 << 18;

/// The tree. What is said first stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::tools) struct Tree {
    pub(in crate::tools) recording: Recording,
    /// The kernel's names of mapped devices, by those that are shown: `dm-0` by `vg-root`.
    pub(in crate::tools) mapped: BTreeMap<String, String>,
    /// The file system of each device at each mount point, where it is known.
    pub(in crate::tools) mounts: BTreeMap<(String, String), Option<String>>,
}

impl Tree {
    /// Its items, with the table of mounts. The options are in no output.
    pub(in crate::tools) fn into_items(mut self) -> BTreeMap<String, Item> {
        let mut table = String::new();
        for ((device, point), kind) in std::mem::take(&mut self.mounts) {
            let kind = kind.as_deref().unwrap_or(UNKNOWN_FILE_SYSTEM);
            table
                .push_str(&format!("/dev/{device} {} {kind} - 0 0\n", point.replace(' ', "\\040")));
        }
        self.set("proc/mounts", &table);
        self.recording.items
    }

    /// Adds an attribute, unless there is one.
    pub(in crate::tools) fn set(&mut self, path: &str, text: &str) {
        if is_path(path) && !text.trim().is_empty() {
            self.add(path, Item::File(format!("{}\n", text.trim()).into_bytes()));
        }
    }

    /// Adds an attribute that is no text.
    pub(in crate::tools) fn set_bytes(&mut self, path: &str, bytes: Vec<u8>) {
        if is_path(path) {
            self.add(path, Item::File(bytes));
        }
    }

    /// Adds an attribute that is known only perhaps.
    pub(in crate::tools) fn set_some(&mut self, path: &str, text: Option<impl ToString>) {
        if let Some(text) = text {
            self.set(path, &text.to_string());
        }
    }

    /// Adds a link, unless there is one.
    pub(in crate::tools) fn link(&mut self, path: &str, target: &str) {
        if is_path(path) && is_path(target.trim_start_matches('/')) {
            self.add(path, Item::Link(target.to_owned()));
        }
    }

    /// Adds a folder.
    pub(in crate::tools) fn folder(&mut self, path: &str) {
        if is_path(path) {
            self.add(path, Item::Folder);
        }
    }

    fn add(&mut self, path: &str, item: Item) {
        let items = &mut self.recording.items;
        if items.len() < ITEMS_MAX {
            items.entry(path.to_owned()).or_insert(item);
        }
    }

    /// The folder of a block device: where its path is known, there; else in `sys/block`.
    pub(in crate::tools) fn block(&self, name: &str) -> String {
        // Sysfs has no slash in a name.
        let name = name.replace('/', "!");
        let plain = format!("sys/block/{name}");
        match self.recording.items.get(&plain) {
            Some(Item::Link(target)) => target.trim_start_matches('/').to_owned(),
            _ => plain,
        }
    }

    /// Adds a block device at its path below `/devices`.
    pub(in crate::tools) fn add_block_device(&mut self, name: &str, path: &str) {
        let target = format!("/sys/{}", path.trim_start_matches('/'));
        self.link(&format!("sys/block/{}", name.replace('/', "!")), &target);
        self.folder(target.trim_start_matches('/'));
    }

    /// The folder of a PCI function, if a path leads through it.
    pub(in crate::tools) fn function(&self, address: &str) -> Option<String> {
        let inner = format!("/{address}/");
        let end = format!("/{address}");
        self.recording.items.keys().find_map(|path| {
            let at =
                path.find(&inner).or_else(|| path.ends_with(&end).then(|| path.len() - end.len()));
            at.filter(|_| path.starts_with("sys/devices/"))
                .map(|at| path[..at + end.len()].to_owned())
        })
    }
}

/// Returns whether a path stays in the tree.
fn is_path(path: &str) -> bool {
    path.len() < 4096
        && !path.is_empty()
        && path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
        && !path.contains('\0')
}
