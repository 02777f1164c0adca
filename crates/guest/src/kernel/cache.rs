//! Kernels that were built or imported, in a folder of this user.
//!
//! A folder per recipe holds a folder per source; `current` names the source that was added last.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use drivelab_files::{Folder, Untrusted, replace, trusted};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::recipe::{recipe, release_suffix};
use crate::trace::sha256;

/// A kernel that guests can run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// The program.
    pub path: PathBuf,
    /// Its release, as `uname -r` prints it.
    pub release: String,
    /// The source that it was built from, with the distribution's version.
    pub source: String,
    /// The hash of configuration and patches.
    pub recipe: String,
    /// The checksum of the program.
    pub sha256: String,
}

/// The reason why a kernel cannot be kept or found.
#[derive(Debug, Error)]
pub enum CacheError {
    /// A file of the cache cannot be read or written.
    #[error("cannot {operation} `{}`", path.display())]
    System {
        /// The operation.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Other users could replace a kernel in the cache.
    #[error("kernels are neither kept nor started in `{}`: {why}", path.display())]
    Untrusted {
        /// The cache.
        path: PathBuf,
        /// The reason.
        why: Untrusted,
    },
    /// The kernel is not the one that was stored.
    #[error("`{}` was changed after it was stored", path.display())]
    Changed {
        /// The kernel.
        path: PathBuf,
    },
    /// The file does not run, or is another program.
    #[error("`{}` is not a kernel of this laboratory", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A kernel of another version of drivelab.
    #[error("`{}` is Linux {release}, of another configuration or patches", path.display())]
    Recipe {
        /// The file.
        path: PathBuf,
        /// Its release.
        release: String,
    },
}

impl CacheError {
    fn at(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::System { operation, path, source }
    }
}

/// The folder of kernels.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

const PROGRAM: &str = "linux";
const ABOUT: &str = "about.json";
const CURRENT: &str = "current";

impl Cache {
    /// The cache in `folder`, which need not exist yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the folder, created if missing. Programs are built in it and started from it by
    /// path, so no other user may be able to change what the path leads to.
    pub(super) fn folder(&self) -> Result<PathBuf, CacheError> {
        Folder::make(&self.folder).map_err(CacheError::at("create", &self.folder))?;
        // It was just made: another process may have removed it since.
        self.trusted(&self.folder)?
            .ok_or_else(|| CacheError::at("read", &self.folder)(io::ErrorKind::NotFound.into()))
    }

    /// `folder` without links, if it exists: only this user and root can change what is in it.
    fn trusted(&self, folder: &Path) -> Result<Option<PathBuf>, CacheError> {
        match trusted(folder) {
            Ok(folder) => Ok(Some(folder)),
            Err(Untrusted::System(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(Untrusted::System(error)) => Err(CacheError::at("read", folder)(error)),
            Err(why) => Err(CacheError::Untrusted { path: self.folder.clone(), why }),
        }
    }

    /// The kernel that was added last, if any; its checksum is verified.
    pub fn find(&self) -> Result<Option<Kernel>, CacheError> {
        // A checksum beside the program proves nothing where others can replace both.
        let Some(folder) = self.trusted(&self.folder.join(recipe()))? else { return Ok(None) };
        let Ok(source) = fs::read_to_string(folder.join(CURRENT)) else { return Ok(None) };
        self.find_source(source.trim())
    }

    /// The kernel of one source, if any.
    pub(super) fn find_source(&self, source: &str) -> Result<Option<Kernel>, CacheError> {
        let folder = self.folder.join(recipe()).join(source);
        let Some(folder) = self.trusted(&folder)? else { return Ok(None) };
        let Ok(text) = fs::read_to_string(folder.join(ABOUT)) else { return Ok(None) };
        let path = folder.join(PROGRAM);
        let bytes = fs::read(&path).map_err(CacheError::at("read", &path))?;
        // The program runs with the rights of this user: only the stored bytes may be started.
        match serde_json::from_str::<Kernel>(&text) {
            Ok(kernel) if kernel.sha256 == sha256(&bytes) => Ok(Some(Kernel { path, ..kernel })),
            _ => Err(CacheError::Changed { path }),
        }
    }

    /// Keeps a kernel that was built elsewhere with the same recipe.
    pub fn import(&self, file: &Path) -> Result<Kernel, CacheError> {
        let release = release_of(file)?;
        // Any kernel with another suffix lacks a patch or an option that guests need.
        let Some(version) = release.strip_suffix(&release_suffix()) else {
            return Err(CacheError::Recipe { path: file.to_owned(), release });
        };
        self.add(file, &format!("imported-{version}"))
    }

    /// Keeps a kernel that was built from `source`.
    pub(super) fn add(&self, file: &Path, source: &str) -> Result<Kernel, CacheError> {
        let release = release_of(file)?;
        let of_recipe = self.folder()?.join(recipe());
        let folder = of_recipe.join(source);
        let path = folder.join(PROGRAM);
        let bytes = fs::read(file).map_err(CacheError::at("read", file))?;
        Folder::make(&folder).map_err(CacheError::at("create", &folder))?;
        write_program(&path, &bytes).map_err(CacheError::at("write", &path))?;
        let (source, sha256) = (source.to_owned(), sha256(&bytes));
        let kernel = Kernel { path, release, source, recipe: recipe(), sha256 };
        let about = serde_json::to_string_pretty(&kernel).expect("plain fields");
        replace_text(&folder.join(ABOUT), &about)?;
        // Last: until then an interrupted import leaves the previous kernel as the current one.
        replace_text(&of_recipe.join(CURRENT), &kernel.source)?;
        Ok(kernel)
    }
}

fn replace_text(path: &Path, text: &str) -> Result<(), CacheError> {
    replace(path, text.as_bytes()).map_err(CacheError::at("write", path))
}

fn write_program(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = drivelab_files::create(path)?;
    file.write_all(bytes)?;
    // Before the rename of `finish`, so that no one finds a program without its mode.
    file.file().set_permissions(fs::Permissions::from_mode(0o755))?;
    file.finish()
}

/// Returns the release of a kernel: with `--version` UML prints it and ends.
fn release_of(file: &Path) -> Result<String, CacheError> {
    let foreign = CacheError::Foreign { path: file.to_owned() };
    let file_type = fs::metadata(file).map_err(CacheError::at("read", file))?;
    let absolute = std::path::absolute(file).map_err(CacheError::at("find", file))?;
    let Ok(output) = Command::new(absolute).arg("--version").output() else { return Err(foreign) };
    let release = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let is_version = release.starts_with(|c: char| c.is_ascii_digit()) && !release.contains('\n');
    if file_type.is_file() && is_version { Ok(release) } else { Err(foreign) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that prints what a kernel of this recipe prints.
    fn kernel(folder: &Path, release: &str) -> PathBuf {
        let path = folder.join("kernel");
        // A child writes it: a descriptor of ours, inherited by a child of another test, would
        // make the program busy.
        let script = format!("printf '#!/bin/sh\necho {release}\n' > \"$0\" && chmod 755 \"$0\"");
        let made = Command::new("sh").args(["-c", &script]).arg(&path).status().unwrap();
        assert!(made.success());
        path
    }

    #[test]
    fn a_kernel_is_found_again_and_a_changed_one_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("kernels"));
        assert_eq!(cache.find().unwrap(), None);
        let file = kernel(folder.path(), &format!("6.12.117{}", release_suffix()));
        let imported = cache.import(&file).unwrap();
        assert_eq!(imported.source, "imported-6.12.117");
        assert_eq!(cache.find().unwrap(), Some(imported.clone()));
        let built = cache.add(&file, "6.12.117-1").unwrap();
        assert_eq!(cache.find().unwrap(), Some(built), "the last one");
        let path = cache.find_source(&imported.source).unwrap().unwrap().path;
        fs::write(&path, "#!/bin/sh\n").unwrap();
        let error = cache.find_source(&imported.source).unwrap_err();
        assert!(matches!(error, CacheError::Changed { .. }), "{error}");
    }

    #[test]
    fn a_kernel_that_others_can_replace_is_not_started() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("kernels"));
        let file = kernel(folder.path(), &format!("6.12.117{}", release_suffix()));
        cache.import(&file).unwrap();
        for inner in ["", &recipe(), &format!("{}/imported-6.12.117", recipe())] {
            let inner = folder.path().join("kernels").join(inner);
            fs::set_permissions(&inner, fs::Permissions::from_mode(0o757)).unwrap();
            let error = cache.find().unwrap_err();
            assert!(matches!(error, CacheError::Untrusted { .. }), "{}: {error}", inner.display());
            fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
        }
        assert!(cache.find().unwrap().is_some());
    }

    #[test]
    fn other_programs_and_other_recipes_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("kernels"));
        let error = cache.import(&kernel(folder.path(), "6.12.117-other")).unwrap_err();
        assert!(matches!(error, CacheError::Recipe { .. }), "{error}");
        let error = cache.import(&kernel(folder.path(), "hello")).unwrap_err();
        assert!(matches!(error, CacheError::Foreign { .. }), "{error}");
        let error = cache.import(Path::new("none")).unwrap_err();
        assert!(matches!(error, CacheError::System { .. }), "{error}");
        assert_eq!(cache.find().unwrap(), None);
    }
}
