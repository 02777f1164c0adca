//! The symbolic links that are followed.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Refuses a symbolic link that another user than this one and root made: in a folder of others any
/// link may appear.
pub(crate) fn refuse_link_of_others(link: &Path) -> io::Result<()> {
    let owner = link.symlink_metadata()?.uid();
    if owner == 0 || owner == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    let message = format!(
        "`{}` is a symbolic link of another user (uid {owner}), which is not followed",
        link.display()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}
