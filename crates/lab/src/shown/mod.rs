//! A machine that its owner describes by files: output of tools, a sosreport, an archive of
//! `inspect --capture`, a kernel log, in any combination.

mod seeming;

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};

use drivelab_core::{AtPath as _, Refusal};
use drivelab_formats::paste;
use drivelab_host::log::foreign;
use drivelab_host::root::{Item, Recording};
use drivelab_host::tools::{Outputs, Package, Part, Source};
use drivelab_host::{KernelLog, Options, Reader};

use crate::input;

/// The part of a file that is read to recognise it.
const HEAD_BYTES: u64 = 1 << 20;
/// The part that shows what another file is.
const SIGN_BYTES: u64 = 64 << 10;
/// Size limit of the output of tools in one file; `udevadm info -e` of a large machine has 2 MB.
const TEXT_BYTES_MAX: u64 = 64 << 20;
/// The number by which `statfs` knows `/sys`.
const SYSFS: rustix::fs::FsWord = 0x6265_6572;
/// Maximum number of files in a folder that are looked at.
const FILES_MAX: usize = 1 << 18;
/// Maximum depth of folders.
const DEPTH_MAX: usize = 24;

/// A machine described by files.
#[derive(Debug, Default)]
pub struct Shown {
    package: Package,
    outputs: Outputs,
    sources: Vec<Source>,
    log: Option<KernelLog>,
    cut: Vec<PathBuf>,
}

/// The kind of a file or a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recognised {
    /// It describes a machine, and was read.
    Machine,
    /// Text in which no reader found anything: not meant as a file on a disk. It seems to be this.
    Text(&'static str),
    /// Anything else.
    Other,
}

impl Recognised {
    fn if_machine(is_machine: bool) -> Self {
        if is_machine { Self::Machine } else { Self::Other }
    }
}

impl Shown {
    /// Reads what a path leads to if that describes a machine.
    ///
    /// A device file is never opened.
    pub fn add(&mut self, path: &Path) -> Result<Recognised, Refusal> {
        let Ok(about) = std::fs::metadata(path) else { return Ok(Recognised::Other) };
        if about.is_dir() {
            return self.add_folder(path).map(Recognised::if_machine);
        }
        if !about.is_file() {
            return Ok(Recognised::Other);
        }
        let what = "read the file";
        let mut file = File::open(path).at_path(what, path)?;
        let mut head = Vec::new();
        (&mut file).take(HEAD_BYTES).read_to_end(&mut head).at_path(what, path)?;
        file.rewind().at_path(what, path)?;
        if is_archive(&head) {
            return Ok(Recognised::if_machine(self.add_archive(path, file)));
        }
        let name = name_of(path);
        if Outputs::default().add(&name, &paste::clean(head.clone()).text).is_some() {
            let mut bytes = head;
            if bytes.len() as u64 == HEAD_BYTES {
                bytes.clear();
                file.take(TEXT_BYTES_MAX).read_to_end(&mut bytes).at_path(what, path)?;
            }
            self.add_text(&name, &paste::clean(bytes).text);
            return Ok(Recognised::Machine);
        }
        if let Some(what) = foreign(&String::from_utf8_lossy(&head)) {
            return Err(foreign_log(&name, what));
        }
        // A text without any known output may still be a log, or a part of one.
        let log = KernelLog::read(head.as_slice()).unwrap_or_default();
        if !log.understands() && !log.is_mostly_stamped() && log.release.is_none() {
            let (kind, is_text) = (seeming::seeming(&head), is_text(&head));
            // The journal of a week can begin with a megabyte of other programs.
            let goes_on = is_text && head.len() as u64 == HEAD_BYTES;
            if goes_on && self.add_log_of_disks(path) {
                return Ok(Recognised::Machine);
            }
            return Ok(if is_text { Recognised::Text(kind) } else { Recognised::Other });
        }
        let log = input::kernel_log(path)?;
        // Of the log of a whole boot it can be said that it names no disk.
        if !log.names_disks() && log.release.is_none() {
            let message = format!("`{name}` looks like a log, and no line of it names a disk");
            return Err(Refusal::request(message).hint("give the whole log since the boot"));
        }
        self.set_log(&name, log);
        Ok(Recognised::Machine)
    }

    fn add_text(&mut self, name: &str, text: &str) {
        let Some(rest) = self.outputs.add(name, text) else { return };
        let log = KernelLog::parse(&rest);
        if log.names_disks() && log.stamped {
            self.log.get_or_insert(log);
        }
    }

    fn set_log(&mut self, name: &str, log: KernelLog) {
        self.log.get_or_insert(log);
        self.note(name, "kernel log");
    }

    fn note(&mut self, name: &str, tool: &str) {
        self.sources.push(Source { file: name.to_owned(), tools: vec![tool.to_owned()] });
    }

    fn add_archive(&mut self, path: &Path, file: File) -> bool {
        let package = match Package::of_archive(file) {
            Ok(Some(package)) if !package.is_empty() => package,
            // A compressed log is none, and neither is an archive of anything else.
            _ => return self.add_log_of_disks(path),
        };
        self.add_package(path, package);
        true
    }

    /// Reads a file as a log; one that names no disk is none.
    fn add_log_of_disks(&mut self, path: &Path) -> bool {
        let log = input::kernel_log(path).ok().filter(KernelLog::names_disks);
        let is_one = log.is_some();
        if let Some(log) = log {
            self.set_log(&name_of(path), log);
        }
        is_one
    }

    fn add_package(&mut self, path: &Path, mut package: Package) {
        if package.cut {
            self.cut.push(path.to_owned());
        }
        for (name, text) in std::mem::take(&mut package.outputs) {
            self.add_text(&name, &text);
        }
        for (name, item) in package.tree.items {
            self.package.tree.items.entry(name).or_insert(item);
        }
        self.note(&name_of(path), "files of /sys and /proc");
    }

    /// A sosreport that was unpacked, or a captured tree. The root of this machine is neither.
    fn add_folder(&mut self, path: &Path) -> Result<bool, Refusal> {
        let is_tree = path.join("sys/block").is_dir();
        if !(path.join("sos_commands").is_dir() || is_tree) || is_of_this_kernel(path) {
            return Ok(false);
        }
        let mut package = Package::default();
        let mut count = 0;
        collect(path, "", 0, &mut count, &mut package).at_path("read the folder", path)?;
        self.add_package(path, package);
        Ok(true)
    }

    /// The reader of the machine, and the options of its inspection; `tree` is what is known of it
    /// from a captured tree.
    pub fn into_options(self, tree: Option<Recording>, options: &Options) -> (Reader, Options) {
        let mut known = self.package.tree;
        for (path, item) in tree.map(|tree| tree.items).unwrap_or_default() {
            known.items.entry(path).or_insert(item);
        }
        let described = !known.items.keys().any(|path| path.starts_with("sys/"));
        let (tree, facts, mut sources) = self.outputs.into_tree(known);
        sources.extend(self.sources);
        let log = options.log.clone().or(self.log);
        let reader = Reader::of("the files", tree);
        let (serials, temperature) = (options.serials, options.temperature);
        let own = Options { log, facts, sources, described, ..Options::default() };
        (reader, Options { serials, temperature, ..own })
    }

    /// The files of which a part was left out.
    pub fn cut(&self) -> &[PathBuf] {
        &self.cut
    }
}

/// Returns whether a folder is a root in which this kernel's own `/proc` or `/sys` is mounted.
fn is_of_this_kernel(path: &Path) -> bool {
    // Only the running kernel has namespaces there.
    let is_proc = path.join("proc/self/ns").is_dir();
    let mounted = rustix::fs::statfs(path.join("sys")).ok();
    is_proc || mounted.is_some_and(|about| about.f_type == SYSFS)
}

/// Returns what a file seems to be that describes no machine; `None` for what is no file, such as
/// a device.
pub fn seeming(path: &Path) -> Option<&'static str> {
    if !std::fs::metadata(path).is_ok_and(|about| about.is_file()) {
        return None;
    }
    let mut head = Vec::new();
    File::open(path).ok()?.take(SIGN_BYTES).read_to_end(&mut head).ok()?;
    Some(seeming::seeming(&head))
}

/// Adds what is below a folder; links are kept as links, and never followed.
fn collect(
    base: &Path,
    below: &str,
    depth: usize,
    count: &mut usize,
    package: &mut Package,
) -> std::io::Result<()> {
    if depth > DEPTH_MAX {
        return Ok(());
    }
    let mut entries: Vec<_> = std::fs::read_dir(base.join(below))?.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        *count += 1;
        if *count > FILES_MAX {
            package.cut = true;
            return Ok(());
        }
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            let wanted = ["sys", "proc", "sos_commands"];
            if depth > 0 || wanted.contains(&path.as_str()) {
                collect(base, &path, depth + 1, count, package)?;
            }
        } else if let Some(part) = Part::of(&path) {
            add_entry(&entry.path(), kind, part, package);
        }
    }
    Ok(())
}

fn add_entry(path: &Path, kind: std::fs::FileType, part: Part, package: &mut Package) {
    if kind.is_symlink() {
        if let (Ok(target), Part::Tree(name)) = (std::fs::read_link(path), part) {
            let target = target.to_string_lossy().into_owned();
            package.tree.items.entry(name).or_insert(Item::Link(target));
        }
        return;
    }
    if !kind.is_file() {
        return;
    }
    let Ok(file) = File::open(path) else { return };
    let mut bytes = Vec::new();
    // A file that cannot be read is as good as missing.
    if file.take(part.limit() as u64).read_to_end(&mut bytes).is_ok() {
        package.add(part, bytes);
    }
}

/// The refusal of a log of another system.
fn foreign_log(name: &str, what: &str) -> Refusal {
    Refusal::request(format!("`{name}` is {what}, and only those of Linux are read")).hint(
        "give the output of `smartctl -x` (or `-j -x`) of the disk, which is read from any system",
    )
}

/// Returns whether the beginning of a file is text.
fn is_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // A character may be cut at the end.
        Err(error) if error.valid_up_to() + 4 > head.len() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).expect("it is valid up to there")
        }
        Err(_) => return false,
    };
    !text.is_empty()
        && text
            .chars()
            .all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\x1b' | '\x0c'))
}

/// tar, gzip, xz, zstd.
fn is_archive(head: &[u8]) -> bool {
    let magic: [&[u8]; 3] = [b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"];
    head.get(257..262) == Some(b"ustar") || magic.iter().any(|it| head.starts_with(it))
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn inspect(shown: Shown) -> drivelab_host::Inspection {
        let (mut reader, options) = shown.into_options(None, &Options::default());
        drivelab_host::inspect_within(&mut reader, &[], &options).unwrap()
    }

    const SMART: &str = "smartctl 7.2 2020-12-30 r5155 [x86_64-linux]\n\
        === START OF INFORMATION SECTION ===\n\
        Device Model:     WDC WD40EFRX-68N32N0\n\
        Serial Number:    WD-1\n\
        User Capacity:    4,000,787,030,016 bytes [4.00 TB]\n\
        Rotation Rate:    5400 rpm\n\
        SATA Version is:  SATA 3.1, 6.0 Gb/s (current: 3.0 Gb/s)\n\
        === START OF READ SMART DATA SECTION ===\n\
        SMART overall-health self-assessment test result: PASSED\n\
        197 Current_Pending_Sector  0x0012   100   100   000    Old_age   Always       -       8\n";

    #[test]
    fn outputs_in_several_files_are_one_machine() {
        let folder = tempfile::tempdir().unwrap();
        let smart = folder.path().join("smart.txt");
        fs::write(&smart, SMART).unwrap();
        let lsblk = folder.path().join("lsblk.json");
        let json = r#"{"blockdevices": [{"name": "sda", "type": "disk", "tran": "sata",
            "size": 4000787030016, "rota": true, "sched": "mq-deadline", "rq-size": 64,
            "model": "WDC WD40EFRX-68N32N0", "serial": "WD-1"}]}"#;
        fs::write(&lsblk, json).unwrap();
        let mut shown = Shown::default();
        assert_eq!(shown.add(&smart).unwrap(), Recognised::Machine);
        assert_eq!(shown.add(&lsblk).unwrap(), Recognised::Machine);
        let found = inspect(shown);
        assert_eq!(found.devices.len(), 1, "{:?}", found.devices);
        let disk = &found.devices[0];
        assert_eq!((disk.name.as_str(), disk.rpm), ("sda", Some(5400)));
        assert_eq!(disk.queue.scheduler.as_deref(), Some("mq-deadline"));
        let ids: Vec<String> = disk.findings.iter().map(|found| found.id.to_string()).collect();
        assert!(ids.contains(&"medium-errors".to_owned()), "{ids:?}");
        assert!(ids.contains(&"link-below-capability".to_owned()), "{ids:?}");
        assert!(found.environment.missing.iter().any(|it| it.contains("kernel log")));
    }

    #[test]
    fn other_files_and_folders_are_no_description() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("notes.txt");
        fs::write(&text, "smart people: read this\n").unwrap();
        let mut shown = Shown::default();
        assert_ne!(shown.add(&text).unwrap(), Recognised::Machine);
        fs::write(&text, "\u{7f}ELF\0\0\0").unwrap();
        assert_ne!(shown.add(&text).unwrap(), Recognised::Machine);
        assert_ne!(shown.add(folder.path()).unwrap(), Recognised::Machine);
        assert_ne!(shown.add(Path::new("/")).unwrap(), Recognised::Machine);
        assert_ne!(shown.add(Path::new("/dev/null")).unwrap(), Recognised::Machine);
        assert_ne!(shown.add(&folder.path().join("missing")).unwrap(), Recognised::Machine);
    }

    #[test]
    fn a_part_of_a_log_is_one_and_a_log_without_disks_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("thread.txt");
        let mut shown = Shown::default();
        fs::write(&text, "It says:\nnvme nvme0: controller is down; will reset: CSTS=0x3\n")
            .unwrap();
        assert_eq!(shown.add(&text).unwrap(), Recognised::Machine);
        assert_eq!(inspect(shown).devices[0].name, "nvme0");
        let lines = "[ 9.100000] audit: type=1400\n[ 9.200000] eth0: Link is Up\n";
        fs::write(&text, lines).unwrap();
        let refusal = Shown::default().add(&text).unwrap_err();
        assert!(refusal.to_string().contains("no line of it names a disk"), "{refusal}");
        let others = "Nov  4 06:00:01 nas systemd[1]: Started a session\n".repeat(30_000);
        fs::write(&text, &others).unwrap();
        assert!(matches!(Shown::default().add(&text).unwrap(), Recognised::Text(_)));
        let error = "Nov  4 06:00:01 nas kernel: critical medium error, dev sda, sector 8\n";
        fs::write(&text, others + error).unwrap();
        let mut shown = Shown::default();
        assert_eq!(shown.add(&text).unwrap(), Recognised::Machine);
        assert_eq!(inspect(shown).devices[0].name, "sda");
        fs::write(&text, format!("[ 0.000000] Linux version 6.1.0\n{lines}")).unwrap();
        let mut shown = Shown::default();
        assert_eq!(shown.add(&text).unwrap(), Recognised::Machine);
        assert!(inspect(shown).devices.is_empty());
    }

    fn put(folder: &tempfile::TempDir, path: &str, text: &str) {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_sosreport_is_a_tree_with_outputs() {
        let folder = tempfile::tempdir().unwrap();
        put(&folder, "sys/block/sda/size", "7814037168\n");
        put(&folder, "sys/block/sda/queue/scheduler", "[none] mq-deadline\n");
        put(&folder, "proc/sys/kernel/osrelease", "5.14.0-70\n");
        put(&folder, "sos_commands/ata/smartctl_-a_.dev.sda", SMART);
        put(&folder, "etc/passwd", "root:x:0:0\n");
        put(&folder, "alone/sys/block/sda/size", "7814037168\n");
        let alone = folder.path().join("alone");
        assert_eq!(Shown::default().add(&alone).unwrap(), Recognised::Machine);
        assert!(is_of_this_kernel(Path::new("/")) && !is_of_this_kernel(&alone));
        let mut shown = Shown::default();
        assert_eq!(shown.add(folder.path()).unwrap(), Recognised::Machine);
        let found = inspect(shown);
        assert_eq!(found.environment.kernel.as_deref(), Some("5.14.0-70"));
        let disk = found.devices.iter().find(|disk| disk.name == "sda").unwrap();
        assert_eq!(disk.model.as_deref(), Some("WDC WD40EFRX-68N32N0"));
        assert!(disk.health.is_some());
    }
}
