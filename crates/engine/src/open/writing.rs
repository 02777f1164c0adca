//! Opening what is to be written: past the guard, or not at all.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use super::{OpenError, has_blocks};
use crate::guard::{self, GuardError};

/// Opens a file, or a block device whose name is among `allow_destructive`, to be read and written.
///
/// A device stays ours while it is open. Whether the contents of a file may go is for the caller to
/// know.
///
/// # Errors
/// It cannot be opened, somebody uses it, or its name was not repeated.
pub fn open_for_writing(path: &Path, allow_destructive: &[PathBuf]) -> Result<File, OpenError> {
    let system =
        |operation| move |source| OpenError::System { operation, path: path.into(), source };
    // Before it is opened: to open a pipe is to wait for its other end.
    has_blocks(path, std::fs::metadata(path).map_err(system("open"))?.file_type())?;
    let file = File::open(path).map_err(system("open"))?;
    // What was opened decides, not what lay under the name a moment ago; and a device that must
    // not be written is not even opened for writing.
    let meta = file.metadata().map_err(system("stat"))?;
    if meta.file_type().is_block_device() {
        return Ok(guard::claim(path, &file, allow_destructive)?);
    }
    match guard::of_file(&meta) {
        Ok(None) => {}
        Ok(Some(by)) => {
            let device = path.display().to_string();
            return Err(GuardError::InUse { path: path.into(), device, by }.into());
        }
        Err(source) => return Err(GuardError::Unknown { path: path.into(), source }.into()),
    }
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(system("open"))?;
    let again = file.metadata().map_err(system("stat"))?;
    if (again.dev(), again.ino()) != (meta.dev(), meta.ino()) {
        let source = io::Error::other("another file took its place while it was opened");
        return Err(OpenError::System { operation: "open", path: path.into(), source });
    }
    Ok(file)
}
