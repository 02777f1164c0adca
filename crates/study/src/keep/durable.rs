//! Folders and files that a power cut leaves whole: as they were, or as they were to be.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use drivelab_core::Refusal;

use super::AtPath as _;
use crate::watch::Watch;

/// Makes `folder` and the folders above it; none by the name of a modelled drive.
pub fn make_folder(folder: &Path) -> Result<(), Refusal> {
    if folder.to_str().is_some_and(|name| name.starts_with("drive:")) {
        let name = folder.display();
        let message = format!("`{name}` names a modelled drive, not a folder");
        return Err(Refusal::request(message).hint(format!(
            "for a folder of that name write \
                                                           `./{name}`"
        )));
    }
    let named = |part: &&Path| !part.as_os_str().is_empty();
    let missing = folder.ancestors().filter(named).take_while(|part| !part.exists());
    let missing: Vec<&Path> = missing.collect();
    fs::create_dir_all(folder).at_path("create", folder)?;
    for made in missing {
        sync_folder_of(made).at_path("create", made)?;
    }
    Ok(())
}

/// Replaces the file at `path`, or leaves it as it was.
pub fn write(path: &Path, content: &[u8], watch: &dyn Watch) -> Result<(), Refusal> {
    let beside = path.with_extension("partial");
    let _whole = watch.shield();
    let write = || {
        let mut file = File::create(&beside)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        sync_folder_of(path)
    };
    let written = write();
    if written.is_err() {
        // Nothing can be done about a remainder that cannot be removed either.
        let _ = fs::remove_file(&beside);
    }
    written.at_path("write", path)
}

/// Removes the file at `path`, where there is one.
pub fn remove(path: &Path) -> Result<(), Refusal> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.and_then(|()| sync_folder_of(path)).at_path("remove", path),
    }
}

/// Writes down the name that `path` has in its folder.
pub(super) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all()) {
        // Some network file systems sync no folder; they promise nothing that could be kept.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Ok(())
        }
        synced => synced,
    }
}
