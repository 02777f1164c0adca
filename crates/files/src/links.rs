//! The symbolic links that are followed.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use rustix::fs::{FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;

use super::folder::Folder;

impl Folder {
    /// Returns what the link of that name leads to; nothing if the name is not that of a link.
    ///
    /// Refuses a link that another user than this one and root made: in a folder of others any link
    /// may appear.
    pub(crate) fn link(&self, name: &OsStr) -> io::Result<Option<PathBuf>> {
        // Owner and target are read from one open link: another may have its name by then.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let link = match openat(self, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            link => link?,
        };
        let about = fstat(&link)?;
        if FileType::from_raw_mode(about.st_mode) != FileType::Symlink {
            return Ok(None);
        }
        let what = format!("`{}` is a symbolic link", self.path().join(name).display());
        refuse_other_owner(about.st_uid, &what, "followed")?;
        // An empty name means the open link itself (`man 2 readlink`).
        let target = readlinkat(&link, "", Vec::new())?;
        Ok(Some(std::ffi::OsString::from_vec(target.into_bytes()).into()))
    }
}

/// Refuses what belongs to another user than this one and root.
pub(crate) fn refuse_other_owner(owner: u32, what: &str, used: &str) -> io::Result<()> {
    if owner == 0 || owner == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    let message = format!("{what} of another user (uid {owner}), which is not {used}");
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}
