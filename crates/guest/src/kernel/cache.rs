//! Kernels that were built or imported, in a folder of this user.
//!
//! A folder per recipe holds a folder per source; `current` names the source that was added last.
//! Kernels with a name have a folder each in `named`.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use drivelab_files::{Folder, Marked, Marker, Untrusted, replace, trusted};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::named::{Change, KernelName};
use super::packed::{checksum_file, pack, unpacked};
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
    /// Its name, unless it is the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<KernelName>,
    /// The patches and options that it has in addition to the recipe.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
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

impl Kernel {
    /// Writes the program, compressed with xz, and its checksum in the format of `sha256sum`.
    ///
    /// # Errors
    /// `xz` is missing or fails, or a file cannot be written.
    pub fn export(&self, file: &Path) -> Result<(), CacheError> {
        let packed = pack(&self.path).map_err(CacheError::at("compress", &self.path))?;
        replace(file, &packed).map_err(CacheError::at("write", file))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        replace_text(&checksum_file(file), &format!("{}  {name}\n", sha256(&packed)))
    }
}

impl CacheError {
    pub(super) fn at(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
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
/// Prefix of the folders of imports; the next import removes those of killed ones.
const PREFIX: &str = "importing-";
static MARKER: Marker = Marker { name: ".drivelab-import", text: "" };
/// The folder of kernels with a name.
pub(super) const NAMED: &str = "named";

impl Cache {
    /// The cache in `folder`, which need not exist yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder, which may be missing.
    pub(super) fn path(&self) -> &Path {
        &self.folder
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
    pub(super) fn trusted(&self, folder: &Path) -> Result<Option<PathBuf>, CacheError> {
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
        self.read(&self.folder.join(recipe()).join(source))
    }

    /// The kernel of this name, if any; its checksum is verified.
    pub fn find_named(&self, name: &KernelName) -> Result<Option<Kernel>, CacheError> {
        match self.read(&self.folder.join(NAMED).join(name))? {
            // Guests and drivelab agree on what the patches of one recipe do.
            Some(Kernel { path, release, recipe, .. }) if recipe != self::recipe() => {
                Err(CacheError::Recipe { path, release })
            }
            found => Ok(found),
        }
    }

    /// All kernels: the usual one first, then the others by name. Some of the latter may be of
    /// another recipe, which guests cannot run.
    pub fn list(&self) -> Result<Vec<Kernel>, CacheError> {
        let mut kernels: Vec<Kernel> = self.find()?.into_iter().collect();
        let Some(folder) = self.trusted(&self.folder.join(NAMED))? else { return Ok(kernels) };
        let entries = fs::read_dir(&folder).map_err(CacheError::at("list", &folder))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let mut names: Vec<KernelName> = names.collect();
        names.sort();
        for name in names {
            kernels.extend(self.read(&folder.join(&name))?);
        }
        Ok(kernels)
    }

    /// The kernel in a folder, if any.
    fn read(&self, folder: &Path) -> Result<Option<Kernel>, CacheError> {
        let Some(folder) = self.trusted(folder)? else { return Ok(None) };
        let Ok(text) = fs::read_to_string(folder.join(ABOUT)) else { return Ok(None) };
        let path = folder.join(PROGRAM);
        let bytes = fs::read(&path).map_err(CacheError::at("read", &path))?;
        // The program runs with the rights of this user: only the stored bytes may be started.
        match serde_json::from_str::<Kernel>(&text) {
            Ok(kernel) if kernel.sha256 == sha256(&bytes) => Ok(Some(Kernel { path, ..kernel })),
            _ => Err(CacheError::Changed { path }),
        }
    }

    /// Keeps a kernel that was built elsewhere with the same recipe; under a name, next to others.
    /// The file is the program, or one that [`Kernel::export`] wrote.
    pub fn import(&self, file: &Path, name: Option<KernelName>) -> Result<Kernel, CacheError> {
        let packed = unpacked(file).map_err(CacheError::at("unpack", file))?;
        let Some(program) = packed else { return self.import_program(file, name) };
        let top = self.folder()?;
        // It is started to ask for its release: where only this user can replace it.
        let work = Folder::open(&top).and_then(|it| Marked::make_new(&it, PREFIX, &MARKER));
        let work = work.map_err(CacheError::at("make a folder in", &top))?;
        let path = work.folder().path().join(PROGRAM);
        let written = write_program(&path, &program).map_err(CacheError::at("write", &path));
        let kernel = written.and_then(|()| self.import_program(&path, name));
        // Files that cannot be removed only take space, and the next import tries again.
        let _ = work.remove();
        kernel
    }

    fn import_program(&self, file: &Path, name: Option<KernelName>) -> Result<Kernel, CacheError> {
        let release = release_of(file)?;
        // Any kernel with another suffix lacks a patch or an option that guests need.
        let Some(version) = release.strip_suffix(&release_suffix()) else {
            return Err(CacheError::Recipe { path: file.to_owned(), release });
        };
        let source = format!("imported-{version}");
        match name {
            Some(name) => self.add_named(file, &source, (name, Vec::new())),
            None => self.add(file, &source),
        }
    }

    /// Keeps a kernel that was built from `source`.
    pub(super) fn add(&self, file: &Path, source: &str) -> Result<Kernel, CacheError> {
        let of_recipe = self.folder()?.join(recipe());
        let kernel = self.keep(file, source, (&of_recipe.join(source), None, Vec::new()))?;
        // Last: until then an interrupted import leaves the previous kernel as the current one.
        replace_text(&of_recipe.join(CURRENT), &kernel.source)?;
        Ok(kernel)
    }

    /// Keeps a kernel under a name, with the files that make it differ.
    pub(super) fn add_named(
        &self,
        file: &Path,
        source: &str,
        (name, changes): (KernelName, Vec<Change>),
    ) -> Result<Kernel, CacheError> {
        let of_name = self.folder()?.join(NAMED).join(&name);
        self.keep(file, source, (&of_name, Some(name), changes))
    }

    /// Writes a program and what it is into a folder.
    fn keep(
        &self,
        file: &Path,
        source: &str,
        (folder, name, changes): (&Path, Option<KernelName>, Vec<Change>),
    ) -> Result<Kernel, CacheError> {
        debug_assert!(folder.starts_with(&self.folder), "it is in the cache");
        let release = release_of(file)?;
        let path = folder.join(PROGRAM);
        let bytes = fs::read(file).map_err(CacheError::at("read", file))?;
        Folder::make(folder).map_err(CacheError::at("create", folder))?;
        write_program(&path, &bytes).map_err(CacheError::at("write", &path))?;
        let (source, sha256) = (source.to_owned(), sha256(&bytes));
        let kernel = Kernel { path, release, source, recipe: recipe(), sha256, name, changes };
        let about = serde_json::to_string_pretty(&kernel).expect("plain fields");
        replace_text(&folder.join(ABOUT), &about)?;
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
    // A child of another thread may hold the file open for writing until it starts its program.
    let mut tries = 0;
    let output = loop {
        match Command::new(&absolute).arg("--version").output() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy && tries < 50 => {
                tries += 1;
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            ended => break ended,
        }
    };
    let Ok(output) = output else { return Err(foreign) };
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
        let imported = cache.import(&file, None).unwrap();
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
    fn an_exported_kernel_is_imported_elsewhere_unless_it_was_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let file = kernel(folder.path(), &format!("6.12.117{}", release_suffix()));
        let ours = Cache::new(at("ours")).import(&file, None).unwrap();
        let packed = at("linux.xz");
        ours.export(&packed).unwrap();
        let theirs = Cache::new(at("theirs"));
        let imported = theirs.import(&packed, None).unwrap();
        assert_eq!((&imported.sha256, &imported.release), (&ours.sha256, &ours.release));
        assert_eq!(theirs.find().unwrap(), Some(imported));
        let left = fs::read_dir(at("theirs")).unwrap();
        assert_eq!(left.count(), 1, "nothing but the kernel is kept");
        let mut sum = Command::new("sha256sum");
        sum.args(["--check", "--status", "linux.xz.sha256"]).current_dir(folder.path());
        assert!(sum.status().unwrap().success());
        let mut bytes = fs::read(&packed).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&packed, &bytes).unwrap();
        let changed = theirs.import(&packed, None).unwrap_err();
        assert!(matches!(changed, CacheError::System { .. }), "{changed}");
        fs::remove_file(at("linux.xz.sha256")).unwrap();
        let damaged = theirs.import(&packed, None).unwrap_err();
        assert!(matches!(damaged, CacheError::System { .. }), "{damaged}");
    }

    #[test]
    fn kernels_with_names_stay_beside_the_usual_one() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("kernels"));
        assert_eq!(cache.list().unwrap(), []);
        let file = kernel(folder.path(), &format!("6.12.117{}", release_suffix()));
        let [one, two]: [KernelName; 2] = ["one-tag".parse().unwrap(), "all-tags".parse().unwrap()];
        let named = cache.import(&file, Some(one.clone())).unwrap();
        assert_eq!(cache.find().unwrap(), None, "a named one is never the usual one");
        let usual = cache.import(&file, None).unwrap();
        let changes = vec![Change { file: "tags.patch".into(), sha256: "0".into() }];
        let other = cache.add_named(&file, "6.12.117-1", (two.clone(), changes)).unwrap();
        assert_eq!(cache.find_named(&two).unwrap().as_ref(), Some(&other));
        assert_eq!(cache.list().unwrap(), [usual, other, named]);
        fs::write(cache.find_named(&one).unwrap().unwrap().path, "#!/bin/sh\n").unwrap();
        let error = cache.find_named(&one).unwrap_err();
        assert!(matches!(error, CacheError::Changed { .. }), "{error}");
    }

    #[test]
    fn a_kernel_that_others_can_replace_is_not_started() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("kernels"));
        let file = kernel(folder.path(), &format!("6.12.117{}", release_suffix()));
        cache.import(&file, None).unwrap();
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
        let error = cache.import(&kernel(folder.path(), "6.12.117-other"), None).unwrap_err();
        assert!(matches!(error, CacheError::Recipe { .. }), "{error}");
        let error = cache.import(&kernel(folder.path(), "hello"), None).unwrap_err();
        assert!(matches!(error, CacheError::Foreign { .. }), "{error}");
        let error = cache.import(Path::new("none"), None).unwrap_err();
        assert!(matches!(error, CacheError::System { .. }), "{error}");
        assert_eq!(cache.find().unwrap(), None);
    }
}
