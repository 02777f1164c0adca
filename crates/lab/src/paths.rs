//! Folders of the user, and paths that must not be written.

use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use drivelab_core::Refusal;

/// Our folder of this user, where the XDG base directory specification puts files of one kind;
/// `None` where the user has no home.
pub fn user_folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    // Relative paths are ignored, as the specification demands.
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder =
        absolute(variable).or_else(|| absolute("HOME").map(|home| home.join(below_home)))?;
    Some(folder.join("drivelab"))
}

/// Refuses a block device as the path of a file.
pub fn refuse_device(path: &Path) -> Result<(), Refusal> {
    match path.metadata() {
        Ok(meta) if meta.file_type().is_block_device() => {
            let message = format!("`{}` is a block device, not a file", path.display());
            Err(Refusal::request(message).hint("name a file"))
        }
        _ => Ok(()),
    }
}
