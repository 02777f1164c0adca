//! A collection of files of one machine: a sosreport, or the archive of `inspect --capture`.

use std::io::{BufReader, Read};

use crate::log::unpacked;
use crate::root::{ATTRIBUTE_BYTES_MAX, Item, Recording, TABLE_BYTES_MAX};

/// Size limit of what an archive contains in all.
const ARCHIVE_BYTES_MAX: u64 = 4 << 30;
/// Maximum number of entries of an archive.
const ENTRIES_MAX: usize = 1 << 20;
/// Size limit of what is kept.
const KEPT_BYTES_MAX: usize = 256 << 20;
/// Size limit of the output of one tool.
const OUTPUT_BYTES_MAX: usize = 16 << 20;
/// Size limit of a kernel log in an archive.
const LOG_BYTES_MAX: usize = 64 << 20;

/// The files that say something about disks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Package {
    /// `sys`, `proc` and `dmesg`.
    pub tree: Recording,
    /// Output of tools: names of files and their text.
    pub outputs: Vec<(String, String)>,
    /// True if files were left out because there are too many.
    pub cut: bool,
    kept_bytes: usize,
}

/// The use of a file of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A file of the tree, by its path there.
    Tree(String),
    /// The kernel log.
    Log,
    /// The output of a tool, by the name of the file.
    Output(String),
}

impl Part {
    /// The part that a file is, by its path in the collection; `None` if it is of no interest.
    pub fn of(path: &str) -> Option<Self> {
        let mut parts: Vec<&str> =
            path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.contains(&"..") {
            return None;
        }
        // A sosreport has one folder, named after machine and date, around everything.
        let known = ["sys", "proc", "sos_commands", "dmesg"];
        if !known.contains(parts.first()?) {
            parts.remove(0);
        }
        let (first, name) = (*parts.first()?, *parts.last()?);
        let path = parts.join("/");
        match first {
            "dmesg" if parts.len() == 1 => Some(Self::Log),
            "sys" => Some(Self::Tree(path)),
            "proc" => TABLES.contains(&path.as_str()).then_some(Self::Tree(path)),
            "sos_commands" if path == "sos_commands/kernel/dmesg" => Some(Self::Log),
            "sos_commands" => {
                let tools = [
                    "lsblk",
                    "smartctl",
                    "udevadm_info_-e",
                    "udevadm_info_--export-db",
                    "lspci",
                    "nvme_list",
                    "nvme_smart-log",
                    "hwinfo",
                    "hdparm_-I",
                ];
                tools
                    .iter()
                    .any(|tool| name.starts_with(tool))
                    .then(|| Self::Output(name.to_owned()))
            }
            _ => None,
        }
    }

    /// The size that is read of it.
    pub fn limit(&self) -> usize {
        match self {
            Self::Tree(path) if path.starts_with("sys/") => ATTRIBUTE_BYTES_MAX,
            Self::Tree(_) => TABLE_BYTES_MAX,
            Self::Log => LOG_BYTES_MAX,
            Self::Output(_) => OUTPUT_BYTES_MAX,
        }
    }
}

/// The tables of `/proc` that an inspection reads.
const TABLES: &[&str] = &[
    "proc/cmdline",
    "proc/mdstat",
    "proc/mounts",
    "proc/self/mounts",
    "proc/self/mountinfo",
    "proc/1/mountinfo",
    "proc/swaps",
    "proc/sys/kernel/osrelease",
];

impl Package {
    /// Reads a tar archive, plain or compressed; `None` if it is none.
    pub fn of_archive(mut file: impl Read) -> std::io::Result<Option<Self>> {
        Self::unpack(&mut file)
    }

    /// As above for files of any type, so that the decoders are compiled once.
    fn unpack(file: &mut dyn Read) -> std::io::Result<Option<Self>> {
        match unpacked(BufReader::new(file), ARCHIVE_BYTES_MAX)? {
            Ok(inner) => Self::of_tar(inner),
            Err(plain) => Self::of_tar(plain),
        }
    }

    fn of_tar(file: impl Read) -> std::io::Result<Option<Self>> {
        let mut archive = tar::Archive::new(file);
        let mut package = Self::default();
        for (index, entry) in archive.entries()?.enumerate() {
            // What is no archive has no first entry; one that was cut has those before.
            let Ok(mut entry) = entry else {
                package.cut = true;
                return Ok((index > 0).then_some(package));
            };
            if index >= ENTRIES_MAX {
                package.cut = true;
                break;
            }
            let path = entry.path()?.to_string_lossy().into_owned();
            let Some(part) = Part::of(&path) else { continue };
            let kind = entry.header().entry_type();
            if kind.is_dir() {
                package.add_item(part, Item::Folder);
            } else if let Some(target) = entry.link_name()?.filter(|_| kind.is_symlink()) {
                package.add_item(part, Item::Link(target.to_string_lossy().into_owned()));
            } else if kind.is_file() {
                let mut bytes = Vec::new();
                let limit = part.limit() as u64;
                if entry.by_ref().take(limit).read_to_end(&mut bytes).is_err() {
                    package.cut = true;
                }
                package.add(part, bytes);
            }
        }
        Ok(Some(package))
    }

    /// Adds a file.
    pub fn add(&mut self, part: Part, bytes: Vec<u8>) {
        if self.kept_bytes.saturating_add(bytes.len()) > KEPT_BYTES_MAX {
            self.cut = true;
            return;
        }
        self.kept_bytes += bytes.len();
        match part {
            Part::Output(name) => {
                self.outputs.push((name, String::from_utf8_lossy(&bytes).into_owned()));
            }
            Part::Log => {
                self.tree.items.entry("dmesg".to_owned()).or_insert(Item::File(bytes));
            }
            Part::Tree(_) => self.add_item(part, Item::File(bytes)),
        }
    }

    fn add_item(&mut self, part: Part, item: Item) {
        if let Part::Tree(path) = part {
            self.tree.items.entry(path).or_insert(item);
        }
    }

    /// Returns whether it has nothing about disks.
    pub fn is_empty(&self) -> bool {
        self.tree.items.is_empty() && self.outputs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(path: &str) -> Part {
        Part::Tree(path.to_owned())
    }

    #[test]
    fn parts_are_known_by_their_paths() {
        assert_eq!(Part::of("sos-box/sys/block/sda/size"), Some(tree("sys/block/sda/size")));
        assert_eq!(Part::of("./sys/block"), Some(tree("sys/block")));
        assert_eq!(Part::of("proc/mdstat"), Some(tree("proc/mdstat")));
        assert_eq!(Part::of("proc/meminfo"), None);
        assert_eq!(Part::of("sos/sos_commands/kernel/dmesg"), Some(Part::Log));
        let output = Some(Part::Output("smartctl_-a_.dev.sda".into()));
        assert_eq!(Part::of("sos/sos_commands/ata/smartctl_-a_.dev.sda"), output);
        assert_eq!(Part::of("sos/etc/passwd"), None);
        assert_eq!(Part::of("../sys/block"), None);
        assert_eq!(Part::of(""), None);
    }

    #[test]
    fn an_archive_is_read_without_being_unpacked() {
        let mut archive = tar::Builder::new(Vec::new());
        let files =
            [("box/sys/block/sda/size", "8\n"), ("box/sos_commands/block/lsblk", "NAME SIZE\n")];
        for (path, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            archive.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        let bytes = archive.into_inner().unwrap();
        let package = Package::of_archive(bytes.as_slice()).unwrap().unwrap();
        assert_eq!(package.tree.items["sys/block/sda/size"], Item::File(b"8\n".to_vec()));
        assert_eq!(package.outputs, [("lsblk".to_owned(), "NAME SIZE\n".to_owned())]);
        // An archive that was cut gives what it has.
        let cut = Package::of_archive(&bytes[..1300]).unwrap();
        assert!(cut.is_some_and(|package| package.outputs.is_empty()));
        assert_eq!(Package::of_archive(&b"text"[..]).unwrap(), None);
    }
}
