//! The root of a guest: a few files as a cpio archive, the same bytes for the same files.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use drivelab_core::Bytes;

mod elf;

/// Limit of copied files: a root is kept in the memory of the guest.
const COPIES_MAX: Bytes = Bytes::mib(512);

/// The folder of programs in the guest.
pub const PROGRAMS: &str = "bin";

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    Folder,
    File {
        bytes: Vec<u8>,
        executable: bool,
    },
    /// A character device: major and minor number.
    Device(u32, u32),
    /// A link to busybox, which acts by the name that it is called by.
    Tool,
}

/// The shell of guests in which a program has the name of a tool of busybox.
const SHELL: &str = "/usr/bin/dash";

/// The files of a guest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Initramfs {
    /// By their path without the leading `/`.
    entries: BTreeMap<String, Entry>,
    /// The tools of busybox, which its shell runs before programs of their names.
    tools: BTreeSet<String>,
}

impl Initramfs {
    /// A root in which `/command` is run by a shell, with `busybox` as its tools.
    ///
    /// The command's output goes to the console of results, between two lines that mark its
    /// beginning and its end, the latter with its exit status. Its standard error goes to the
    /// kernel's console.
    pub fn new(busybox: &Path, command: &str) -> io::Result<Self> {
        let mut root = Self::bare(busybox)?;
        root.add_file("command", command.into(), false);
        Ok(root)
    }

    /// A root with a shell on the console, which first runs `profile`; the guest ends with it.
    pub fn interactive(busybox: &Path, profile: &str) -> io::Result<Self> {
        let mut root = Self::bare(busybox)?;
        root.add_file("etc/profile", format!("{POWER_OFF}{profile}").into_bytes(), false);
        Ok(root)
    }

    fn bare(busybox: &Path) -> io::Result<Self> {
        let mut root = Self { tools: tools(busybox)?, ..Self::default() };
        root.add_file("init", INIT.into(), true);
        // What is in the archive need not be made by programs of the guest, each of which takes
        // milliseconds of the host's processor.
        for tool in root.tools.clone() {
            root.add(&format!("{PROGRAMS}/{tool}"), Entry::Tool);
        }
        root.add_with_libraries("busybox", busybox)?;
        root.add_file("mounts", MOUNTED.into(), false);
        for folder in ["proc", "sys", "tmp", "mnt", "usr", "sbin"] {
            root.entries.insert(folder.into(), Entry::Folder);
        }
        root.add("dev/console", Entry::Device(5, 1));
        Ok(root)
    }

    /// Adds a program of this machine as `/bin/NAME`, with the libraries that it needs, and where
    /// busybox has a tool of that name a shell that runs the program.
    ///
    /// # Errors
    /// A file cannot be read, that shell is not installed, or the guest has another program of that
    /// name, such as one that it is driven with.
    pub fn add_program(&mut self, name: &str, path: &Path) -> io::Result<()> {
        self.add_with_libraries(name, path)?;
        if !self.tools.contains(name) {
            return Ok(());
        }
        for shell in ["dash", "sh"] {
            self.add_with_libraries(shell, Path::new(SHELL)).map_err(|error| {
                let why = format!("busybox would run its own `{name}`, and {SHELL}: {error}");
                io::Error::new(error.kind(), why)
            })?;
        }
        Ok(())
    }

    fn add_with_libraries(&mut self, name: &str, path: &Path) -> io::Result<()> {
        let inside = format!("{PROGRAMS}/{name}");
        let bytes = elf::without_sections(std::fs::read(path)?);
        let is_static = elf::is_static(&bytes);
        self.refuse_another(&inside, &bytes)?;
        self.add_file(&inside, bytes, true);
        if is_static {
            return Ok(());
        }
        for library in libraries(path)? {
            let name = library.to_string_lossy().trim_start_matches('/').to_owned();
            self.add_file(&name, elf::without_sections(std::fs::read(&library)?), true);
        }
        Ok(())
    }

    /// Adds a file of this machine as `inside`, or a folder with all that is in it.
    pub fn add_copy(&mut self, inside: &str, outside: &Path) -> io::Result<()> {
        let about = std::fs::metadata(outside)?;
        let inside = inside.trim_start_matches('/');
        if !about.is_dir() {
            let executable = about.permissions().mode() & 0o111 != 0;
            let bytes = std::fs::read(outside)?;
            if inside.starts_with(&format!("{PROGRAMS}/")) {
                self.refuse_another(inside, &bytes)?;
            }
            self.add_file(inside, bytes, executable);
            let total: usize = self.entries.values().map(Entry::bytes).sum();
            if total as u64 > COPIES_MAX.get() {
                return Err(io::Error::other(format!("a guest's root holds {COPIES_MAX} at most")));
            }
            return Ok(());
        }
        let entries = std::fs::read_dir(outside)?;
        let mut paths = entries.map(|it| Ok(it?.path())).collect::<io::Result<Vec<_>>>()?;
        // The order of `read_dir` is arbitrary, and the same files must make the same root.
        paths.sort();
        self.add(inside, Entry::Folder);
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            self.add_copy(&format!("{inside}/{name}"), &path)?;
        }
        Ok(())
    }

    /// Fails where the guest has another file of that name.
    fn refuse_another(&self, inside: &str, bytes: &[u8]) -> io::Result<()> {
        match self.entries.get(inside) {
            Some(Entry::File { bytes: own, .. }) if own != bytes => {
                let why = format!("the guest has another /{inside}: give a copy another name");
                Err(io::Error::new(io::ErrorKind::AlreadyExists, why))
            }
            _ => Ok(()),
        }
    }

    /// Adds a file.
    pub fn add_file(&mut self, name: &str, bytes: Vec<u8>, executable: bool) {
        self.add(name, Entry::File { bytes, executable });
    }

    /// Adds an entry and the folders above it.
    fn add(&mut self, name: &str, entry: Entry) {
        debug_assert!(!name.starts_with('/'), "names are relative to the root");
        for (end, _) in name.match_indices('/') {
            // The kernel creates no missing parents when it unpacks an archive.
            self.entries.entry(name[..end].into()).or_insert(Entry::Folder);
        }
        self.entries.insert(name.into(), entry);
    }

    /// The archive, in the format `newc`; all files belong to root and carry no time.
    pub fn to_bytes(&self) -> Vec<u8> {
        let bytes = self.entries.iter().map(|(name, entry)| name.len() + entry.bytes());
        let mut out = Vec::with_capacity(bytes.map(|bytes| bytes + OVERHEAD_MAX).sum());
        // Sorted by name, so that a folder precedes its contents.
        for (inode, (name, entry)) in (1..).zip(&self.entries) {
            entry.put(&mut out, inode, name);
        }
        Entry::File { bytes: Vec::new(), executable: false }.put(&mut out, 0, "TRAILER!!!");
        out
    }
}

impl Entry {
    fn bytes(&self) -> usize {
        if let Self::File { bytes, .. } = self { bytes.len() } else { 0 }
    }

    fn put(&self, out: &mut Vec<u8>, inode: u32, name: &str) {
        let (mode, links, bytes, device) = match self {
            Self::Folder => (0o040_755, 2, &[][..], (0, 0)),
            Self::File { bytes, executable: true } => (0o100_755, 1, &bytes[..], (0, 0)),
            Self::File { bytes, executable: false } => (0o100_644, 1, &bytes[..], (0, 0)),
            Self::Device(major, minor) => (0o020_600, 1, &[][..], (*major, *minor)),
            Self::Tool => (0o120_777, 1, BUSYBOX.as_bytes(), (0, 0)),
        };
        let length = u32::try_from(bytes.len()).expect("a file of a guest is below 4 GiB");
        let name_bytes = u32::try_from(name.len() + 1).expect("a path is short");
        let (owner, time, checksum) = (0, 0, 0);
        let fields = [
            inode, mode, owner, owner, links, time, length, 0, 0, device.0, device.1, name_bytes,
            checksum,
        ];
        out.extend(b"070701");
        for field in fields {
            out.extend(format!("{field:08x}").bytes());
        }
        out.extend(name.bytes().chain([0]));
        // Header with name, and data, are each padded to four bytes in the format `newc`.
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend(bytes);
        out.resize(out.len().next_multiple_of(4), 0);
    }
}

/// The bytes of an entry without its name and its contents: a header, an end and two paddings; the
/// last entry has a name, too.
const OVERHEAD_MAX: usize = 128;
/// The program behind all tools.
const BUSYBOX: &str = "/bin/busybox";
/// The file systems that one call of `mount` mounts; /etc/fstab may be a user's.
const MOUNTED: &str = "proc /proc proc\nsys /sys sysfs\ndev /dev devtmpfs\n";
/// The first program of every guest.
const INIT: &str = include_str!("init.sh");
/// Aliases without the option `-f` of these commands, which would switch off while a driver uses
/// its disk.
const POWER_OFF: &str = "for end in poweroff halt reboot; do alias $end='kill -USR2 1 #'; done\n";
/// Precedes the command's output.
const BEGIN: &str = "drivelab-begin\n";
/// Follows it, with the exit status.
const END: &str = "drivelab-end ";

/// Returns the output of a guest's command and its exit status; `None` if it did not end.
pub fn results(console: &str) -> Option<(&str, u8)> {
    let (_, rest) = console.split_once(BEGIN)?;
    let (output, rest) = rest.rsplit_once(END)?;
    Some((output, rest.lines().next()?.parse().ok()?))
}

/// Returns the names of the tools of busybox.
fn tools(busybox: &Path) -> io::Result<BTreeSet<String>> {
    let output = Command::new(busybox).arg("--list").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let names = text.lines().filter(|name| !name.is_empty() && !name.contains('/'));
    Ok(names.map(str::to_owned).collect())
}

/// Returns the shared libraries of a program, including its loader; none if it is static.
fn libraries(program: &Path) -> io::Result<Vec<PathBuf>> {
    // ldd fails for a static program, and prints no path then.
    let output = Command::new("ldd").arg(program).env("LC_ALL", "C").output()?;
    Ok(of_ldd(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads the output of ldd.
fn of_ldd(text: &str) -> Vec<PathBuf> {
    text.lines().filter_map(library).collect()
}

/// Returns the path in a line of ldd: `NAME => PATH (ADDRESS)`, or `PATH (ADDRESS)` of the loader.
fn library(line: &str) -> Option<PathBuf> {
    let (path, _) = line.rsplit_once(" (")?;
    let path = path.split_once("=> ").map_or(path, |(_, path)| path).trim();
    // The kernel's own `linux-vdso.so.1` has no path.
    path.starts_with('/').then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_its_folders_before_its_files() {
        let mut root = Initramfs::default();
        root.add_file("a/b/c", b"xyz".to_vec(), true);
        let bytes = root.to_bytes();
        let text = String::from_utf8_lossy(&bytes);
        let names: Vec<usize> = ["a\0", "a/b\0", "a/b/c\0", "TRAILER!!!\0"]
            .iter()
            .map(|it| text.find(it).unwrap())
            .collect();
        assert!(names.is_sorted(), "{names:?}");
        assert_eq!(text.matches("070701").count(), 4);
        assert_eq!(&text[..22], "0707010000000100_0041ed".replace('_', "").as_str());
        assert!(bytes.len().is_multiple_of(4));
        assert_eq!(root.clone().to_bytes(), bytes);
    }

    #[test]
    fn the_tools_of_busybox_are_links_where_no_program_has_their_name() {
        let folder = tempfile::tempdir().unwrap();
        let busybox = folder.path().join("busybox");
        std::fs::write(&busybox, "#!/bin/sh\nprintf 'busybox\\ncat\\ndd\\n\\nx/y\\n'\n").unwrap();
        std::fs::set_permissions(&busybox, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut root = Initramfs::new(&busybox, "true").unwrap();
        root.add_program("dd", Path::new("/bin/true")).unwrap();
        let links = root.entries.iter().filter(|(_, entry)| **entry == Entry::Tool);
        assert_eq!(links.map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["bin/cat"]);
        let (bytes, link) = (root.to_bytes(), b"bin/cat\0\0\0/bin/busybox");
        assert!(bytes.windows(link.len()).any(|part| part == link), "its target");
        assert!(bytes.capacity() < bytes.len() + 128 * (root.entries.len() + 1));
    }

    #[test]
    fn files_and_folders_are_taken_along() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("sub/b"), "B").unwrap();
        std::fs::write(folder.path().join("a"), "A").unwrap();
        let mut root = Initramfs::default();
        root.add_copy("/data", folder.path()).unwrap();
        let names: Vec<&str> = root.entries.keys().map(String::as_str).collect();
        assert_eq!(names, ["data", "data/a", "data/sub", "data/sub/b"]);
        assert!(root.add_copy("/x", &folder.path().join("none")).is_err());
    }

    #[test]
    fn a_program_that_busybox_has_a_tool_for_comes_with_a_shell_that_runs_it() {
        let folder = tempfile::tempdir().unwrap();
        let busybox = folder.path().join("busybox");
        std::fs::write(&busybox, "#!/bin/sh\necho dd\n").unwrap();
        std::fs::set_permissions(&busybox, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut root = Initramfs::new(&busybox, "true").unwrap();
        root.add_program("sqlite3", Path::new("/bin/true")).unwrap();
        assert!(!root.entries.contains_key("bin/dash"));
        root.add_program("dd", Path::new("/bin/true")).unwrap();
        for shell in ["bin/dash", "bin/sh"] {
            assert!(root.entries.contains_key(shell), "{shell}");
        }
    }

    #[test]
    fn a_program_takes_the_part_of_no_other_one() {
        let folder = tempfile::tempdir().unwrap();
        let strace = folder.path().join("strace");
        std::fs::write(&strace, "#!/bin/sh\n").unwrap();
        let mut root = Initramfs::default();
        root.add_program("strace", Path::new("/bin/true")).unwrap();
        root.add_program("strace", Path::new("/bin/true")).unwrap();
        let error = root.add_program("strace", &strace).unwrap_err().to_string();
        assert!(error.contains("another /bin/strace"), "{error}");
        assert!(root.add_copy("/bin/strace", &strace).is_err());
        root.add_copy("/data/strace", &strace).unwrap();
    }

    #[test]
    fn a_root_has_a_command_or_a_shell() {
        let busybox = Path::new("/proc/self/exe");
        let has = |root: &Initramfs, name: &str| root.entries.contains_key(name);
        let command = Initramfs::new(busybox, "true").unwrap();
        assert!(has(&command, "command") && !has(&command, "etc/profile"));
        let shell = Initramfs::interactive(busybox, "echo hello").unwrap();
        assert!(has(&shell, "etc/profile") && !has(&shell, "command"));
        assert!(INIT.contains("if [ -e /command ]; then"));
    }

    #[test]
    fn libraries_are_those_that_ldd_found() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\
                    \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f14)\n\
                    \tlibnone.so => not found\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f14)\n";
        let expected = ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(of_ldd(text), expected.map(PathBuf::from));
        assert!(of_ldd("\tnot a dynamic executable\n").is_empty());
    }

    #[test]
    fn results_are_what_stands_between_the_marks() {
        let console = "Core dump limits\ndrivelab-begin\n{\"a\": 1}\ndrivelab-end 3\n";
        assert_eq!(results(console), Some(("{\"a\": 1}\n", 3)));
        assert_eq!(results("drivelab-begin\ndrivelab-end 0\n"), Some(("", 0)));
        assert_eq!(results("drivelab-begin\nhalf"), None);
        assert_eq!(results("panic"), None);
    }
}
