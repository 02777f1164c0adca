//! Folders and files that a power cut leaves whole: in their old state, or in their new one.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use drivelab_core::Refusal;
use drivelab_files::Folder;

use super::AtPath as _;
use drivelab_core::Control;

/// Opens `folder`, which is made if it is missing, with those above it; none by the name of a
/// modelled drive.
pub fn make_folder(folder: &Path) -> Result<KeptFolder, Refusal> {
    if folder.to_str().is_some_and(|name| name.starts_with("drive:")) {
        let name = folder.display();
        let message = format!("`{name}` names a modelled drive, not a folder");
        return Err(
            Refusal::request(message).hint(format!("for a folder of that name write `./{name}`"))
        );
    }
    Folder::make(folder).map(KeptFolder).at_path("create", folder)
}

/// An open folder for results. Files are kept in it even if its name leads elsewhere meanwhile.
#[derive(Debug)]
pub struct KeptFolder(Folder);

impl KeptFolder {
    /// Opens one that exists.
    pub fn open(folder: &Path) -> Result<Self, Refusal> {
        Folder::open(folder).map(Self).at_path("open", folder)
    }

    /// As it was named.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Replaces a file in it, or leaves it as it was; returns its path.
    pub fn write(
        &self,
        name: &str,
        content: &[u8],
        control: &Control<'_>,
    ) -> Result<PathBuf, Refusal> {
        let named = self.path().join(name);
        // A signal between writing and renaming would leave a temporary file.
        let _whole = control.shield();
        self.0.replace(name, content).at_path("write", &named)?;
        Ok(named)
    }

    /// Removes a file in it, where there is one.
    pub fn remove(&self, name: &str) -> Result<(), Refusal> {
        match self.0.remove_file(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => {
                // The removal is durable once the folder is synced (`man 2 fsync`).
                removed.and_then(|()| self.0.sync()).at_path("remove", &self.path().join(name))
            }
        }
    }

    /// Opens a folder in it, which is made if it is missing.
    pub fn folder(&self, name: &str) -> Result<Self, Refusal> {
        let named = self.path().join(name);
        self.0.make_or_open_folder(name).map(Self).at_path("create", &named)
    }

    /// Opens a file in it for appending; its name is durable.
    pub(super) fn append(&self, name: &str) -> io::Result<File> {
        self.0.append(name)
    }

    /// Makes its names durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
}

/// Replaces the file at `path`, or leaves it as it was.
pub fn write(path: &Path, content: &[u8], control: &Control<'_>) -> Result<(), Refusal> {
    let _whole = control.shield();
    drivelab_files::replace(path, content).at_path("write", path)
}
