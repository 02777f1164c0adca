//! Who uses a device or a file: mounts in every visible namespace, swap, loops, processes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::Use;
use super::tree::{self, Number, number, number_of, same};

/// One line of a mount table.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    number: Number,
    at: String,
    source: String,
}

/// Reads a line of `mountinfo` (`man 5 proc_pid_mountinfo`).
fn mount(line: &str) -> Option<Mount> {
    let (place, system) = line.split_once(" - ")?;
    let mut fields = place.split(' ');
    let number = number(fields.nth(2)?)?;
    let at = unescape(fields.nth(1)?);
    let source = unescape(system.split(' ').nth(1)?);
    Some(Mount { number, at, source })
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

fn named(process: &str) -> String {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    format!("process {process} ({})", name.trim())
}

/// Where one of `numbers` is mounted, in any namespace that a process we see is in.
///
/// # Errors
/// Not even our own mounts can be read.
pub(super) fn mounted(numbers: &[Number]) -> io::Result<Option<(Number, Use)>> {
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
        for mount in table.lines().filter_map(mount) {
            // Btrfs mounts show a number of their own, and the device only by name.
            let source = folder.join("root").join(mount.source.trim_start_matches('/'));
            let by_name = || number_of(&source).filter(|_| mount.source.starts_with('/'));
            let is_one = |number: &Number| numbers.contains(number);
            let number = Some(mount.number).filter(is_one).or_else(by_name).filter(is_one);
            if let Some(number) = number {
                let seen_by = (!ours).then(|| named(&process));
                return Ok(Some((number, Use::Mounted { at: mount.at, seen_by })));
            }
        }
    }
    Ok(None)
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

/// Who uses the regular file at `path`: swap, or a loop device.
///
/// # Errors
/// It cannot be found out.
pub(crate) fn of_file(path: &Path) -> io::Result<Option<Use>> {
    if swaps()?.iter().any(|swap| same(swap, path)) {
        return Ok(Some(Use::Swap));
    }
    let on_it = tree::loops().into_iter().find(|(_, backing)| same(backing, path));
    Ok(on_it.map(|(device, _)| Use::Loop { name: device.name }))
}

/// A process that has the device open: the kernel does not tell which one has it exclusively.
pub(super) fn opener(number: Number) -> Option<String> {
    let has = |process: &String| {
        let entries = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| number_of(&path) == Some(number))
    };
    let own = std::process::id().to_string();
    let (ours, others): (Vec<_>, Vec<_>) =
        processes().ok()?.into_iter().skip(1).partition(|process| *process == own);
    // We have it open ourselves, to look at it.
    let found = others.into_iter().chain(ours).find(has);
    found.map(|process| named(&process))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_mount_tables_are_read() {
        let check = |line: &str, expected: Option<(Number, &str, &str)>| {
            let expected = expected.map(|(number, at, source)| Mount {
                number,
                at: at.into(),
                source: source.into(),
            });
            assert_eq!(mount(line), expected, "{line}");
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
    fn names_with_spaces_are_unescaped() {
        let check = |text: &str, expected: &str| assert_eq!(unescape(text), expected);
        check("/plain", "/plain");
        check("/a\\040b\\134c", "/a b\\c");
        check("/end\\", "/end\\");
        assert_eq!(swap("/swap\\040file  file 1024 0 -2"), Some("/swap file".into()));
    }
}
