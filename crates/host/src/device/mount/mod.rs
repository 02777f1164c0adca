//! Mounted file systems, from `/proc/self/mountinfo` or `/proc/mounts`.

mod volumes;

pub(crate) use volumes::Volumes;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::root::{Root, TABLE_BYTES_MAX};

/// The kind of a file system that no output of a tool names.
pub(crate) const UNKNOWN_FILE_SYSTEM: &str = "?";

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The mount point.
    pub point: String,
    /// Its kind: `ext4`, or `?` where it is unknown.
    pub file_system: String,
    /// Options of mount and file system.
    pub options: Vec<String>,
}

impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file_system.as_str() {
            UNKNOWN_FILE_SYSTEM => write!(f, "mounted on {}", self.point),
            kind => write!(f, "{kind} on {}", self.point),
        }
    }
}

impl Mount {
    /// The mount that applies to the file at `path`, absolute and without links.
    ///
    /// A file system that is also bound elsewhere may have other options there: the mount that the
    /// path goes through counts.
    pub fn of_file(root: &Root, path: &str) -> Option<Self> {
        Mounts::read(root).above(path).cloned()
    }

    /// The options that cost data after a crash, or speed.
    pub(crate) fn risky(&self) -> Vec<&str> {
        let risky = ["data=writeback", "sync"];
        let options = self.options.iter().map(String::as_str);
        options.filter(|option| risky.contains(option)).collect()
    }

    /// The option by which the file system sends no flushes.
    pub(crate) fn without_barriers(&self) -> Option<&str> {
        let mut options = self.options.iter().map(String::as_str);
        options.find(|option| matches!(*option, "nobarrier" | "barrier=0"))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Major and minor number, if the table has them.
    pub(crate) number: Option<String>,
    /// The mounted source: `/dev/sda1`.
    pub(crate) source: String,
    pub(crate) mount: Mount,
}

/// All mounted file systems.
#[derive(Debug, Clone, Default)]
pub struct Mounts {
    lines: Vec<Line>,
    by_number: BTreeMap<String, Vec<usize>>,
    by_source: BTreeMap<String, Vec<usize>>,
}

impl Mounts {
    pub(crate) fn read(root: &Root) -> Self {
        for path in ["proc/self/mountinfo", "proc/1/mountinfo", "proc/mountinfo"] {
            if let Some(text) = root.text(path, TABLE_BYTES_MAX) {
                return Self::of(&text, mount_line);
            }
        }
        let text = root.text("proc/mounts", TABLE_BYTES_MAX).unwrap_or_default();
        Self::of(&text, mounts)
    }

    fn of(text: &str, parse: fn(&str) -> Option<Line>) -> Self {
        let mut all = Self::default();
        for line in text.lines().filter_map(parse) {
            let index = all.lines.len();
            if let Some(number) = &line.number {
                all.by_number.entry(number.clone()).or_default().push(index);
            }
            all.by_source.entry(line.source.clone()).or_default().push(index);
            all.lines.push(line);
        }
        all
    }

    /// The mounts of the device with this number (`8:1`) or one of these names (`/dev/sda1`). A
    /// file system with several mount points counts once: at the first.
    pub fn of_device(&self, number: Option<&str>, names: &[String]) -> Vec<Mount> {
        let by_number = number.and_then(|number| self.by_number.get(number)).into_iter();
        let by_source = names.iter().filter_map(|name| self.by_source.get(name));
        debug_assert!(self.by_number.values().flatten().all(|at| *at < self.lines.len()));
        let mut indices: Vec<usize> = by_number.chain(by_source).flatten().copied().collect();
        indices.sort_unstable();
        let mut found: Vec<Mount> = Vec::new();
        for index in indices {
            let mount = &self.lines[index].mount;
            // Equal options: another mount point of one file system.
            if !found.iter().any(|seen| seen.options == mount.options) {
                found.push(mount.clone());
            }
        }
        found
    }

    /// The mount with the number that `stat` returns for a file, or above the file's path: source
    /// and kind of file system.
    pub(crate) fn source_of(&self, number: &str, path: &str) -> Option<(&str, &str)> {
        let numbered = self.by_number.get(number).and_then(|indices| indices.first());
        let line = numbered.map(|index| &self.lines[*index]).or_else(|| self.line_above(path))?;
        Some((&line.source, &line.mount.file_system))
    }

    /// The mount that the path goes through last.
    fn above(&self, path: &str) -> Option<&Mount> {
        self.line_above(path).map(|line| &line.mount)
    }

    /// The deepest mount above the path; of several at one point the last, which hides the others.
    fn line_above(&self, path: &str) -> Option<&Line> {
        let above = self.lines.iter().filter(|line| is_below(path, &line.mount.point));
        above.max_by_key(|line| line.mount.point.len())
    }
}

fn is_below(path: &str, point: &str) -> bool {
    let rest = path.strip_prefix(point.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard` (`proc_pid_mountinfo(5)`).
pub(crate) fn mount_line(line: &str) -> Option<Line> {
    // The hyphen ends the optional fields, whose number varies.
    let (mount, super_block) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(2);
    let number = mount.next()?;
    let point = unescaped(mount.nth(1)?);
    let options = mount.next()?;
    let mut rest = super_block.split(' ');
    let file_system = rest.next()?.to_owned();
    let source = unescaped(rest.next()?);
    let options = joined(options, rest.next().unwrap_or(""));
    let number = Some(number.to_owned());
    Some(Line { number, source, mount: Mount { point, file_system, options } })
}

/// `/dev/vda / ext4 rw,relatime 0 0` (fstab(5)).
fn mounts(line: &str) -> Option<Line> {
    let mut fields = line.split_whitespace();
    let source = unescaped(fields.next()?);
    let point = unescaped(fields.next()?);
    let file_system = fields.next()?.to_owned();
    let options = joined(fields.next()?, "");
    Some(Line { number: None, source, mount: Mount { point, file_system, options } })
}

fn joined(first: &str, second: &str) -> Vec<String> {
    let mut options: Vec<String> = Vec::new();
    for option in first.split(',').chain(second.split(',')).filter(|option| !option.is_empty()) {
        if !options.iter().any(|seen| seen == option) {
            options.push(option.to_owned());
        }
    }
    options
}

/// Blanks, tabs, line ends and backslashes are written as `\040` and so on.
pub(crate) fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut whole = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) if code.is_ascii() => {
                whole.push(char::from(code));
                whole.push_str(&part[3..]);
            }
            _ => {
                whole.push('\\');
                whole.push_str(part);
            }
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_are_read() {
        let info =
            "27 1 254:1 / /mnt/my\\040disk rw,relatime shared:1 - ext4 /dev/vda1 rw,nobarrier";
        let all = Mounts::of(info, mount_line);
        let found = all.of_device(Some("254:1"), &[]);
        assert_eq!(found[0].point, "/mnt/my disk");
        assert_eq!(found[0].without_barriers(), Some("nobarrier"));
        let plain = Mounts::of("/dev/sda1 / ext4 rw,barrier=0 0 0", mounts);
        let found = plain.of_device(None, &["/dev/sda1".into()]);
        assert_eq!(found[0].without_barriers(), Some("barrier=0"));
    }

    #[test]
    fn broken_lines_are_left_out() {
        for line in ["", "1 2", "- - -", "27 1 254:1 / / rw", " - ", "\\", "a b - c"] {
            assert_eq!(mount_line(line), None, "{line}");
        }
        assert_eq!(unescaped("a\\04"), "a\\04");
        assert_eq!(unescaped("\\é"), "\\é");
    }

    #[test]
    fn a_file_below_a_bind_mount_has_its_options() {
        let table = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                     28 27 254:0 /srv/data /b rw,relatime - ext4 /dev/vda rw\n\
                     29 27 254:0 /one /b/file ro,noatime - ext4 /dev/vda rw\n\
                     30 27 0:44 / /t rw - tmpfs none rw,size=8k\n\
                     31 30 254:1 / /t rw,sync - xfs /dev/vdb rw";
        let all = Mounts::of(table, mount_line);
        let check = |path, point: &str, options: &str| {
            let mount = all.above(path).unwrap();
            assert_eq!((mount.point.as_str(), mount.options.join(",")), (point, options.into()));
        };
        check("/b/x", "/b", "rw,relatime");
        check("/b/file", "/b/file", "ro,noatime,rw");
        check("/bb", "/", "rw,relatime");
        // The latest mount hides earlier ones.
        check("/t/x", "/t", "rw,sync");
        assert_eq!(all.above("/t").unwrap().file_system, "xfs");
    }

    #[test]
    fn a_file_is_on_the_deepest_mount_above_it() {
        let table = "/dev/a / ext4 rw 0 0\n/dev/b /home xfs rw 0 0\n/dev/c /home2 xfs rw 0 0";
        let all = Mounts::of(table, mounts);
        let check = |path, expected| assert_eq!(all.source_of("0:0", path).unwrap().0, expected);
        check("/home/file", "/dev/b");
        check("/home2", "/dev/c");
        check("/homer", "/dev/a");
    }
}
