//! Who uses a device or a file: mounts in every visible namespace, swap, loops, processes.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::error::Use;
use super::tree::{self, Identity, Number, number, number_of};

/// One line of a mount table.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    number: Number,
    at: String,
    source: String,
    /// Its options, some of which name further devices: `logdev=/dev/sdb1`.
    options: String,
}

/// Reads a line of `mountinfo` (`man 5 proc_pid_mountinfo`).
fn mount(line: &str) -> Option<Mount> {
    let (place, system) = line.split_once(" - ")?;
    let mut fields = place.split(' ');
    let number = number(fields.nth(2)?)?;
    let at = unescape(fields.nth(1)?);
    let mut system = system.split(' ').skip(1);
    let source = unescape(system.next()?);
    let options = unescape(system.next().unwrap_or_default());
    Some(Mount { number, at, source, options })
}

/// The kernel writes space, tab, line feed and backslash as three octal digits.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain += before;
        let code = after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(code.map_or('\\', char::from));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    plain + rest
}

/// The running processes by number, ours first: its names are the ones to show.
fn processes() -> io::Result<Vec<String>> {
    let entries = fs::read_dir("/proc")?.flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let numbers = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    Ok(std::iter::once("self".into()).chain(numbers).collect())
}

/// A process, for people.
pub(super) fn named(process: &str) -> String {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    format!("process {process} ({})", name.trim())
}

/// The first mount of which `wanted` gives something, in any namespace that a process we see is in;
/// `wanted` is also given where that process sees its root.
///
/// # Errors
/// Not even our own mounts can be read.
fn find_mount<T>(wanted: impl Fn(&Mount, &Path) -> Option<T>) -> io::Result<Option<(T, Use)>> {
    let mut seen: Vec<PathBuf> = Vec::new();
    for process in processes()? {
        let folder = PathBuf::from("/proc").join(&process);
        let ours = process == "self";
        // Processes end while we look, and without rights we do not see into those of others.
        match fs::read_link(folder.join("ns/mnt")) {
            Ok(namespace) if seen.contains(&namespace) => continue,
            Ok(namespace) => seen.push(namespace),
            Err(_) if ours => {}
            Err(_) => continue,
        }
        let table = match fs::read_to_string(folder.join("mountinfo")) {
            Ok(table) => table,
            Err(error) if ours => return Err(error),
            Err(_) => continue,
        };
        let root = folder.join("root");
        let mut mounts = table.lines().filter_map(mount);
        let found = mounts.find_map(|mount| Some((wanted(&mount, &root)?, mount.at)));
        if let Some((found, at)) = found {
            let seen_by = (!ours).then(|| named(&process));
            return Ok(Some((found, Use::Mounted { at, seen_by })));
        }
    }
    Ok(None)
}

/// The paths that a mount names as its source and in its options, below `root`.
fn sources(mount: &Mount, root: &Path) -> impl Iterator<Item = PathBuf> {
    let values = mount.options.split(',').filter_map(|option| Some(option.split_once('=')?.1));
    let paths = std::iter::once(mount.source.as_str()).chain(values);
    let absolute = paths.filter_map(|path| path.strip_prefix('/'));
    absolute.map(|path| root.join(path)).collect::<Vec<_>>().into_iter()
}

/// Where one of `numbers` is mounted, or serves what is mounted.
///
/// # Errors
/// As [`find_mount`].
pub(super) fn mounted(numbers: &[Number]) -> io::Result<Option<(Number, Use)>> {
    let is_one = |number: &Number| numbers.contains(number);
    find_mount(|mount, root| {
        // Btrfs mounts show a number of their own, and the device only by name; so do the logs of
        // other file systems.
        let named = || sources(mount, root).filter_map(|path| number_of(&path)).find(is_one);
        Some(mount.number).filter(is_one).or_else(named)
    })
}

/// Where the btrfs file system that the device with this number is a part of is mounted, by
/// whichever of its devices.
///
/// # Errors
/// As [`find_mount`].
pub(super) fn mounted_as_part(number: Number) -> io::Result<Option<Use>> {
    let all = tree::btrfs_of(number);
    let found = if all.is_empty() { None } else { mounted(&all)? };
    Ok(found.map(|(_, by)| by))
}

/// The device that the file at `path` lies on, where its file system shows a number of its own, as
/// btrfs does.
pub(super) fn device_under(path: &Path) -> Option<Number> {
    let path = path.canonicalize().ok()?;
    let table = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let above = table.lines().filter_map(mount).filter(|mount| path.starts_with(&mount.at));
    // Of mounts on one another the last hides the others.
    let mount = above.max_by_key(|mount| mount.at.len())?;
    number_of(Path::new(&mount.source))
}

/// The paths that memory is swapped to.
fn swaps() -> io::Result<Vec<PathBuf>> {
    let table = match fs::read_to_string("/proc/swaps") {
        // A kernel without swap.
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        table => table?,
    };
    Ok(table.lines().skip(1).filter_map(swap).collect())
}

fn swap(line: &str) -> Option<PathBuf> {
    let name = line.split_ascii_whitespace().next()?;
    Some(unescape(name).into())
}

/// Which of `numbers` memory is swapped to.
///
/// # Errors
/// It cannot be found out.
pub(super) fn swapped(numbers: &[Number]) -> io::Result<Option<(Number, Use)>> {
    let used = swaps()?.iter().filter_map(|path| number_of(path)).find(|n| numbers.contains(n));
    Ok(used.map(|number| (number, Use::Swap)))
}

/// Who uses the regular file that `meta` is about: swap, a loop device, or a file system in it.
///
/// # Errors
/// It cannot be found out.
pub(crate) fn of_file(meta: &Metadata) -> io::Result<Option<Use>> {
    let wanted = Identity::of(meta);
    let is_it = |path: &Path| fs::metadata(path).is_ok_and(|it| Identity::of(&it) == wanted);
    if swaps()?.iter().any(|swap| is_it(swap)) {
        return Ok(Some(Use::Swap));
    }
    if let Some(device) = tree::loop_on_file(meta) {
        return Ok(Some(Use::Loop { name: device.name }));
    }
    // Without a loop device: EROFS since Linux 6.12, and file systems in user space.
    let inside = |mount: &Mount, root: &Path| {
        let source = root.join(mount.source.strip_prefix('/')?);
        is_it(&source).then_some(())
    };
    Ok(find_mount(inside)?.map(|((), by)| by))
}

/// Whether the open files of every process can be seen: those of other users only by root.
pub fn sees_all_processes() -> bool {
    rustix::process::geteuid().is_root()
}

/// A process that has one of `numbers` open, exclusively or not; the first `own` times that we have
/// it open ourselves do not count. Processes of other users are seen only as root.
pub(super) fn opener(numbers: &[Number], own: usize) -> Option<(Number, String)> {
    let open = |process: &String| -> Vec<Number> {
        let entries = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        let found = entries.filter_map(|entry| number_of_open(&entry.path()));
        found.filter(|number| numbers.contains(number)).collect()
    };
    let ourselves = std::process::id().to_string();
    let find = |process: String| {
        let spared = if process == ourselves { own } else { 0 };
        Some((*open(&process).get(spared)?, named(&process)))
    };
    processes().ok()?.into_iter().skip(1).find_map(find)
}

/// The number of the block device that a process has open as this link in its `/proc/PID/fd`. What
/// a file system on the network or in user space answers is not waited for.
fn number_of_open(link: &Path) -> Option<Number> {
    use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};
    let found = statx(CWD, link, AtFlags::STATX_DONT_SYNC, StatxFlags::TYPE).ok()?;
    let kind = FileType::from_raw_mode(found.stx_mode.into());
    (kind == FileType::BlockDevice).then_some((found.stx_rdev_major, found.stx_rdev_minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_mount_tables_are_read() {
        let check = |line: &str, expected: Option<(Number, &str, &str)>| {
            let found = mount(line);
            let found = found.as_ref().map(|it| (it.number, it.at.as_str(), it.source.as_str()));
            assert_eq!(found, expected, "{line}");
        };
        check(
            "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue",
            Some(((98, 0), "/mnt2", "/dev/root")),
        );
        check(
            "90 27 0:41 / /mnt/a\\040b rw - btrfs /dev/sda1 rw,subvol=/",
            Some(((0, 41), "/mnt/a b", "/dev/sda1")),
        );
        check("nonsense", None);
        check("", None);
    }

    #[test]
    fn devices_that_options_name_are_sources_too() {
        let line = "36 35 7:1 / /mnt rw - xfs /dev/loop1 rw,logdev=/dev/loop2,noquota,subvol=a";
        let found: Vec<PathBuf> = sources(&mount(line).unwrap(), Path::new("/root")).collect();
        assert_eq!(found, [Path::new("/root/dev/loop1"), Path::new("/root/dev/loop2")]);
    }

    #[test]
    fn names_with_spaces_are_unescaped() {
        let check = |text: &str, expected: &str| assert_eq!(unescape(text), expected);
        check("/plain", "/plain");
        check("/a\\040b\\134c", "/a b\\c");
        check("/end\\", "/end\\");
        assert_eq!(swap("/swap\\040file  file 1024 0 -2"), Some("/swap file".into()));
    }
}
