//! Files that are written beside a measurement: results, reports, ledgers, profiles.
//!
//! Never a block device: a name in the wrong place must not cost a disk.

use std::fs::File;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use crate::failure::{AtPath as _, Failure};
use crate::interrupt;

/// Makes the file at `path`, or empties it, to write to it: `what` is said where that fails.
pub(crate) fn create(path: &Path, what: &str) -> Result<File, Failure> {
    refuse_device(path)?;
    File::create(path).at_path(what, path)
}

/// Writes `text` to the file at `path`, which is made anew.
pub(crate) fn write(path: &Path, text: &str, what: &str) -> Result<(), Failure> {
    refuse_device(path)?;
    let _whole = interrupt::shield();
    std::fs::write(path, text).at_path(what, path)
}

/// Refuses a block device as the place of a file.
pub(crate) fn refuse_device(path: &Path) -> Result<(), Failure> {
    match path.metadata() {
        Ok(meta) if meta.file_type().is_block_device() => {
            let message =
                format!("`{}` is a block device, and a file is to be written", path.display());
            Err(Failure::bad_words(message).hint("name a file"))
        }
        _ => Ok(()),
    }
}
