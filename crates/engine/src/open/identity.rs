//! The identity and state of a target, to find out after a run that it was not the same throughout.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use drivelab_core::units::Bytes;

use super::file_system::keeps_times;
use super::writing::length;

/// A target as it was when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    /// File system and inode of a file, or the number of a device.
    number: (u64, u64),
    length: Bytes,
    /// The last write to a file, in seconds and nanoseconds. The node of a device has none, and
    /// that of a file system which does not keep its own times proves nothing.
    modified: Option<(i64, i64)>,
}

impl Identity {
    /// The identity of an open file or block device.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        let about = file.metadata()?;
        let is_device = about.file_type().is_block_device();
        Ok(Self {
            number: number(&about),
            length: length(file)?,
            modified: (!is_device && keeps_times(file))
                .then(|| (about.mtime(), about.mtime_nsec())),
        })
    }

    /// The inode of a file, or the number of a device.
    pub(crate) fn number(&self) -> (u64, u64) {
        self.number
    }

    /// Returns what happened to the target since then, in a clause; `is_ours` where this process
    /// wrote to it, so that the time of the last write says nothing.
    pub(crate) fn change(&self, path: &Path, file: &File, is_ours: bool) -> Option<String> {
        // What cannot be found out is not reported.
        let now = Self::of(file).ok()?;
        if now.length != self.length {
            let [before, after] = [self.length, now.length].map(Bytes::get);
            return Some(format!("its size went from {before} to {after} bytes"));
        }
        if !is_ours && now.modified != self.modified {
            return Some("another process wrote to the file".to_owned());
        }
        let named = fs::metadata(path).ok().map(|about| number(&about));
        // A file that is removed while it is open stays what it was.
        let is_other = named.is_some_and(|named| named != self.number);
        is_other.then(|| "its path now leads to another file".to_owned())
    }
}

fn number(about: &Metadata) -> (u64, u64) {
    if about.file_type().is_block_device() { (0, about.rdev()) } else { (about.dev(), about.ino()) }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write as _;

    use super::*;
    use crate::testing::Scratch;

    #[test]
    fn a_target_that_others_change_during_a_run_is_noticed() {
        type Change = fn(&Path, &File);
        let check = |is_ours: bool, change: Change, expected: Option<&str>| {
            let scratch = Scratch::new("identity");
            let path = scratch.file("data", &[1; 4096]);
            let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
            // As old as no write of this test is.
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
            let before = Identity::of(&file).unwrap();
            change(&path, &file);
            assert_eq!(before.change(&path, &file, is_ours).as_deref(), expected);
        };
        check(false, |_, _| (), None);
        let written: Change = |path, _| {
            OpenOptions::new().write(true).open(path).unwrap().write_all(&[2; 512]).unwrap();
        };
        check(false, written, Some("another process wrote to the file"));
        check(true, written, None);
        let shorter = Some("its size went from 4096 to 512 bytes");
        check(true, |_, file| file.set_len(512).unwrap(), shorter);
        let replaced: Change = |path, _| {
            let other = path.with_extension("other");
            fs::write(&other, [3; 4096]).unwrap();
            fs::rename(&other, path).unwrap();
        };
        check(false, replaced, Some("its path now leads to another file"));
        check(false, |path, _| fs::remove_file(path).unwrap(), None);
    }
}
