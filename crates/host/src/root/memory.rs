//! A tree in memory: unpacked from an archive, or made from the output of other tools.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use rustix::fs::FileType;

use super::{Item, Recording};

impl Recording {
    /// Returns the kind of what is at `path`; a folder exists where something lies below it.
    pub(super) fn kind(&self, path: &str) -> std::io::Result<FileType> {
        match self.items.get(path) {
            Some(Item::File(_)) => Ok(FileType::RegularFile),
            Some(Item::Link(_)) => Ok(FileType::Symlink),
            Some(Item::Folder) => Ok(FileType::Directory),
            None if path.is_empty() || self.first_below(&format!("{path}/")).is_some() => {
                Ok(FileType::Directory)
            }
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    /// The bytes of a file, one more than `limit` if it is longer.
    pub(super) fn bytes(&self, path: &str, limit: usize) -> std::io::Result<Vec<u8>> {
        match self.items.get(path) {
            Some(Item::File(bytes)) => Ok(bytes[..bytes.len().min(limit.saturating_add(1))].into()),
            _ => Err(ErrorKind::NotFound.into()),
        }
    }

    /// The text of a link.
    pub(super) fn link(&self, path: &str) -> Option<String> {
        match self.items.get(path) {
            Some(Item::Link(target)) => Some(target.clone()),
            _ => None,
        }
    }

    /// The entries of a folder, by name.
    pub(super) fn entries(&self, folder: &str) -> BTreeMap<String, FileType> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut found = BTreeMap::new();
        let mut from = prefix.clone();
        while let Some(path) = self.first_below(&from).filter(|path| path.starts_with(&prefix)) {
            // Folders are implied by the paths below them.
            let rest = &path[prefix.len()..];
            let name = rest.split('/').next().unwrap_or(rest);
            let whole = format!("{prefix}{name}");
            let own = self.kind(&whole).unwrap_or(FileType::Directory);
            // `a.b` sorts between `a` and `a/b`, so a folder can be met twice.
            found.insert(name.to_owned(), own);
            // The sign after the slash: what lies below the entry is skipped.
            from = if *path == whole { format!("{whole}\0") } else { format!("{whole}0") };
        }
        found
    }

    /// The first path from `from` on.
    fn first_below(&self, from: &str) -> Option<&String> {
        let mut after = self
            .items
            .range::<str, _>((std::ops::Bound::Included(from), std::ops::Bound::Unbounded));
        let (path, _) = after.next()?;
        // A bare prefix `a/` has to begin the path that it finds.
        (!from.ends_with('/') || path.starts_with(from)).then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Root;
    use super::*;

    fn tree(paths: &[(&str, &str)]) -> Root {
        let mut recording = Recording::default();
        for (path, text) in paths {
            let item = match text.strip_prefix("-> ") {
                Some(target) => Item::Link(target.to_owned()),
                None => Item::File(text.as_bytes().to_vec()),
            };
            recording.items.insert((*path).to_owned(), item);
        }
        Root::of(recording)
    }

    #[test]
    fn a_tree_in_memory_is_read_like_one_on_a_disk() {
        let root = tree(&[
            ("sys/block/sda", "-> ../devices/ata1/block/sda"),
            ("sys/devices/ata1/block/sda/size", "8\n"),
            ("sys/devices/ata1/block/sda/queue/rotational", "1\n"),
            ("sys/devices/ata1/block/sda.x", "beside it"),
            ("sys/escape", "-> ../../etc/passwd"),
        ]);
        let block = root.node("sys/block/sda").unwrap();
        assert_eq!(block.path(), "sys/devices/ata1/block/sda");
        assert_eq!(block.number::<u64>("size"), Some(8));
        assert_eq!(block.folders(), ["queue"]);
        assert_eq!(block.flag("queue/rotational"), Some(true));
        assert_eq!(root.block_devices().unwrap().folders(), ["sda"]);
        assert_eq!(root.text("sys/escape", 99), None);
        assert_eq!(root.problems().len(), 1, "{:?}", root.problems());
    }

    #[test]
    fn each_entry_is_listed_once() {
        let root =
            tree(&[("a/b", "1"), ("a/b.c", "1"), ("a/d/e", "1"), ("a/d.e", "1"), ("ab", "1")]);
        let names: Vec<String> =
            root.node("a").unwrap().entries().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["b", "b.c", "d", "d.e"]);
    }
}
