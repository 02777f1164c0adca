//! Compiled objects of a source with the recipe, kept so that a patch compiles what it changes.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use drivelab_core::Bytes;
use drivelab_files::{Folder, create};
use serde::Serialize;

use super::cache::{Cache, CacheError};
use super::named::KernelName;
use super::recipe::recipe;

/// The folder of kept objects in the cache.
const FOLDER: &str = "objects";
const ENDING: &str = ".tar.xz";
/// The number of sources whose objects are kept: each takes tens of megabytes.
const KEPT_MAX: usize = 3;

/// The objects of one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Objects {
    /// The packed objects.
    pub path: PathBuf,
    /// The source that they were compiled from, with the distribution's version.
    pub source: String,
    /// The size of the file.
    pub size_bytes: u64,
}

impl Objects {
    /// The size of the file.
    pub fn size(&self) -> Bytes {
        Bytes::new(self.size_bytes)
    }

    /// The time at which it was kept.
    fn changed(&self) -> Option<SystemTime> {
        fs::metadata(&self.path).and_then(|it| it.modified()).ok()
    }
}

impl Cache {
    /// All kept objects, by source.
    pub fn objects(&self) -> Result<Vec<Objects>, CacheError> {
        let Some(folder) = self.trusted(&self.path().join(FOLDER))? else { return Ok(Vec::new()) };
        let entries = fs::read_dir(&folder).map_err(CacheError::at("list", &folder))?;
        let mut objects: Vec<Objects> = entries.filter_map(|it| about(&it.ok()?.path())).collect();
        objects.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(objects)
    }

    /// The objects of a source, if they are kept: of this recipe and this compiler.
    pub(super) fn objects_of(&self, source: &str, compiler: &str) -> Option<Objects> {
        let folder = self.trusted(&self.path().join(FOLDER)).ok()??;
        about(&folder.join(name_of(source, compiler)))
    }

    /// Keeps objects, and removes those that no build can use any more.
    pub(super) fn keep_objects(
        &self,
        packed: &Path,
        (source, compiler): (&str, &str),
    ) -> Result<Objects, CacheError> {
        let top = self.folder()?;
        let folder = Folder::open(&top).and_then(|top| top.make_or_open_folder(FOLDER));
        let folder = folder.map_err(CacheError::at("make a folder in", &top))?;
        let path = top.join(FOLDER).join(name_of(source, compiler));
        // It is there whole or not at all: a full disk or a kill leaves no part of it.
        let copied = File::open(packed).and_then(|mut packed| {
            let mut file = create(&path)?;
            io::copy(&mut packed, file.file())?;
            file.finish()
        });
        copied.map_err(CacheError::at("write", &path))?;
        for old in self.outdated(&path)? {
            // One that cannot be removed only takes space, and the next build tries again.
            let _ = folder.remove_file(old.path.file_name().expect("it is a file of the folder"));
        }
        about(&path).ok_or_else(|| CacheError::at("read", &path)(io::ErrorKind::NotFound.into()))
    }

    /// Objects of other recipes and compilers, and the oldest where too many are kept.
    fn outdated(&self, newest: &Path) -> Result<Vec<Objects>, CacheError> {
        let mut objects = self.objects()?;
        objects.retain(|it| it.path != newest);
        objects.sort_by_key(|it| std::cmp::Reverse(it.changed()));
        let (same, mut outdated): (Vec<_>, Vec<_>) =
            objects.into_iter().partition(|it| suffix(&it.path) == suffix(newest));
        outdated.extend(same.into_iter().skip(KEPT_MAX - 1));
        debug_assert!(outdated.iter().all(|it| it.path != newest), "the new ones stay");
        Ok(outdated)
    }

    /// Removes all kept objects, and returns them.
    pub fn remove_objects(&self) -> Result<Vec<Objects>, CacheError> {
        let removed = self.objects()?;
        if !removed.is_empty() {
            let top = self.path();
            let ended = Folder::open(top).and_then(|top| top.remove_tree(FOLDER));
            ended.map_err(CacheError::at("remove the objects in", top))?;
        }
        Ok(removed)
    }

    /// True if there is a kernel of this name, damaged or not.
    pub fn has_named(&self, name: &KernelName) -> bool {
        fs::symlink_metadata(self.path().join(super::cache::NAMED).join(name)).is_ok()
    }

    /// Removes the kernel of this name; returns whether there was one.
    pub fn remove_named(&self, name: &KernelName) -> Result<bool, CacheError> {
        let named = self.path().join(super::cache::NAMED);
        let Some(folder) = self.trusted(&named)? else { return Ok(false) };
        match Folder::open(&folder).and_then(|it| it.remove_tree(name.to_string())) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(CacheError::at("remove", &folder.join(name))(error)),
        }
    }
}

/// The name of a file of objects: anything else compiles to other bytes.
fn name_of(source: &str, compiler: &str) -> String {
    debug_assert!(!source.contains(['/', '_']), "it is a part of a file's name");
    format!("{source}_{}_{compiler}{ENDING}", recipe())
}

/// The recipe and the compiler in the name of a file of objects.
fn suffix(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.split_once('_').map(|(_, suffix)| suffix)
}

fn about(path: &Path) -> Option<Objects> {
    let name = path.file_name()?.to_str()?.strip_suffix(ENDING)?;
    let (source, _) = name.split_once('_')?;
    let metadata = fs::symlink_metadata(path).ok()?;
    let (path, source, size_bytes) = (path.to_owned(), source.to_owned(), metadata.len());
    metadata.is_file().then_some(Objects { path, source, size_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_by_source_recipe_and_compiler_until_they_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("kernels"));
        assert_eq!(cache.objects().unwrap(), []);
        assert_eq!(cache.objects_of("6.12.117-1", "gcc-12"), None);
        let packed = folder.path().join("packed");
        fs::write(&packed, "objects").unwrap();
        let kept = cache.keep_objects(&packed, ("6.12.117-1", "gcc-12")).unwrap();
        assert_eq!((kept.source.as_str(), kept.size_bytes), ("6.12.117-1", 7));
        assert_eq!(cache.objects_of("6.12.117-1", "gcc-12").as_ref(), Some(&kept));
        assert_eq!(cache.objects_of("6.12.117-2", "gcc-12"), None);
        assert_eq!(cache.objects_of("6.12.117-1", "gcc-13"), None);
        // Those of another compiler cannot be used any more.
        cache.keep_objects(&packed, ("6.12.117-1", "gcc-13")).unwrap();
        assert_eq!(cache.objects().unwrap().len(), 1);
        for number in 0..5 {
            cache.keep_objects(&packed, (&format!("tree-{number}"), "gcc-13")).unwrap();
        }
        let kept = cache.remove_objects().unwrap();
        assert_eq!(kept.len(), KEPT_MAX);
        assert!(kept.iter().any(|it| it.source == "tree-4"), "the new ones stay");
        assert_eq!(cache.objects().unwrap(), []);
    }

    #[test]
    fn a_kernel_is_removed_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned());
        let name: KernelName = "one-tag".parse().unwrap();
        assert!(!cache.remove_named(&name).unwrap());
        fs::create_dir_all(folder.path().join("named/one-tag")).unwrap();
        fs::write(folder.path().join("named/one-tag/linux"), "x").unwrap();
        assert!(cache.has_named(&name));
        assert!(cache.remove_named(&name).unwrap());
        assert!(!cache.has_named(&name));
        assert!(!cache.remove_named(&name).unwrap());
        assert!(folder.path().join("named").exists());
    }
}
