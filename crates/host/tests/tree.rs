//! Trees of attributes, kept as one text file each and written out for a test.
//!
//! Lines of a `.tree` file:
//!
//! ```text
//! # a comment
//! + ich8-ahci                  all of another tree, to be changed below
//! @ sys/devices/...            what `./` stands for from here on
//! ./queue/scheduler = none     a file and what is in it; `\n` is a line end
//! sys/block/sda -> ../dev...   a symbolic link
//! ./id = !identify model=ST31000333AS 75=001f 76=0106
//! ```
//!
//! `!identify` makes the 256 words of an ATA drive, all zero but for the model and those given.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use drivelab_core::outline::Line;
use drivelab_host::{Device, FindingId, Inspection, Root, inspect};
use tempfile::TempDir;

/// A tree on the file system, removed at the end.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Where it lies.
    pub(crate) folder: TempDir,
}

impl Tree {
    /// The tree `tests/trees/<name>.tree`.
    pub(crate) fn named(name: &str) -> Self {
        Self::of(&text_of(name))
    }

    /// The tree that `text` describes.
    pub(crate) fn of(text: &str) -> Self {
        let tree = Self { folder: tempfile::tempdir().unwrap() };
        tree.add(text);
        tree
    }

    /// Adds what `text` describes, over what is there.
    pub(crate) fn add(&self, text: &str) -> &Self {
        let mut base = String::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix("+ ") {
                self.add(&text_of(name));
                continue;
            }
            if let Some(folder) = line.strip_prefix("@ ") {
                folder.clone_into(&mut base);
                continue;
            }
            let line = line.strip_prefix("./").map_or(line.to_owned(), |l| format!("{base}/{l}"));
            if let Some((path, target)) = line.split_once(" -> ") {
                let path = self.place(path);
                let _ = fs::remove_file(&path);
                symlink(target, path).unwrap();
            } else if let Some((path, content)) = line.split_once(" =") {
                fs::write(self.place(path), expanded(content.trim_start())).unwrap();
            } else {
                panic!("neither file nor link: {line}");
            }
        }
        self
    }

    /// Takes a file away.
    pub(crate) fn remove(&self, path: &str) -> &Self {
        fs::remove_file(self.folder.path().join(path)).unwrap();
        self
    }

    /// The path of an entry, its folder made.
    pub(crate) fn place(&self, path: &str) -> std::path::PathBuf {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    /// Everything that is to be said of it.
    pub(crate) fn inspect(&self) -> Inspection {
        inspect(&Root::new(self.folder.path()), &[], &drivelab_host::Options::default()).unwrap()
    }

    /// One device of it.
    pub(crate) fn device(&self, name: &str) -> Device {
        let devices = self.inspect().devices;
        let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        let found = devices.iter().find(|device| device.name == name);
        found.unwrap_or_else(|| panic!("no {name} in {names:?}")).clone()
    }

    /// The findings of one device.
    pub(crate) fn findings(&self, name: &str) -> Vec<FindingId> {
        self.device(name).findings.iter().map(|finding| finding.id).collect()
    }
}

/// An outline as it is read, 100 columns wide.
pub(crate) fn text(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        let mut row: String = line.parts.iter().map(|part| part.text.as_str()).collect();
        let mut space = "";
        for word in line.body.split_whitespace() {
            if !space.is_empty() && row.chars().count() + 1 + word.chars().count() > 100 {
                text += &format!("{}\n", row.trim_end());
                (row, space) = (" ".repeat(line.hanging), "");
            }
            row += &format!("{space}{word}");
            space = " ";
        }
        text += &format!("{}\n", row.trim_end());
    }
    text
}

fn text_of(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/trees/{name}.tree"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn expanded(content: &str) -> String {
    let Some(words) = content.strip_prefix("!identify") else {
        return format!("{}\n", content.replace("\\n", "\n"));
    };
    let mut set = BTreeMap::new();
    for word in words.split_whitespace() {
        let (key, value) = word.split_once('=').unwrap();
        if let Ok(index) = key.parse::<usize>() {
            set.insert(index, u16::from_str_radix(value, 16).unwrap());
            continue;
        }
        let start = match key {
            "model" => 27,
            "serial" => 10,
            _ => panic!("no such part of an identity: {key}"),
        };
        let text = value.replace('_', " ");
        for (index, pair) in text.as_bytes().chunks(2).enumerate() {
            let second = pair.get(1).copied().unwrap_or(b' ');
            set.insert(start + index, u16::from_be_bytes([pair[0], second]));
        }
    }
    let word = |index: usize| set.get(&index).copied().unwrap_or(0);
    let line = |first: usize| {
        let words: Vec<String> = (first..first + 8).map(|i| format!("{:04x}", word(i))).collect();
        words.join(" ") + "\n"
    };
    (0..256).step_by(8).map(line).collect()
}
