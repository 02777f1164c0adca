//! The table of mounts, as reported by the kernel (`proc_pid_mountinfo(5)`).

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The source and type of our mounts; the kernel puts `fuse.` before the subtype passed to
/// `fusermount3`.
pub(super) const SOURCE: &str = "drivelab";
pub(super) const FILE_SYSTEM: &str = "fuse.drivelab";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct MountInfo {
    pub(super) on: PathBuf,
    /// Major and minor number of the mounted device, as `7:0`.
    pub(super) device: String,
    file_system: String,
    source: String,
}

impl MountInfo {
    /// Returns whether it is a drive that one of our servers mounted.
    pub(super) fn is_drive(&self) -> bool {
        self.file_system == FILE_SYSTEM && self.source == SOURCE
    }
}

pub(super) fn read() -> io::Result<Vec<MountInfo>> {
    let text = std::fs::read("/proc/self/mountinfo")?;
    Ok(text.split(|byte| *byte == b'\n').filter_map(parse).collect())
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`: the optional fields end with a
/// hyphen.
fn parse(line: &[u8]) -> Option<MountInfo> {
    let mut fields = line.split(|byte| *byte == b' ');
    let device = String::from_utf8(fields.nth(2)?.to_vec()).ok()?;
    let on = PathBuf::from(OsString::from_vec(unescaped(fields.nth(1)?)));
    // Any number of optional fields precedes the hyphen.
    let mut fields = fields.skip_while(|field| *field != b"-").skip(1);
    let file_system = String::from_utf8_lossy(fields.next()?).into_owned();
    let source = String::from_utf8_lossy(fields.next()?).into_owned();
    Some(MountInfo { on, device, file_system, source })
}

/// Decodes a field, in which the kernel writes blanks as a backslash and three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_of_ours_is_told_from_others() {
        let check = |line: &str, on: &str, device: &str, ours: bool| {
            let mount = parse(line.as_bytes()).unwrap();
            assert_eq!((mount.on.to_str().unwrap(), mount.device.as_str()), (on, device), "{line}");
            assert_eq!(mount.is_drive(), ours, "{line}");
        };
        let drive = "99 27 0:52 / /tmp/my\\040drive rw,nosuid shared:3 - fuse.drivelab drivelab rw";
        check(drive, "/tmp/my drive", "0:52", true);
        check("36 35 7:0 / /mnt rw master:1 shared:2 - ext4 /dev/loop0 rw", "/mnt", "7:0", false);
        check("36 35 0:9 / /x\\1 rw - fuse.sshfs drivelab rw", "/x\\1", "0:9", false);
        assert_eq!(parse(b""), None);
        assert_eq!(parse(b"36 35 7:0 / /mnt rw"), None);
    }
}
