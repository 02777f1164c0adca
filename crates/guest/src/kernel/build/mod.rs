//! Builds the kernel: source, patches, configuration, make.

mod error;
mod own;
mod steps;
mod tree;

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use drivelab_core::control::{Control, Event};
use drivelab_files::{Folder, Marked, Marker};
use rustix::fs::{FlockOperation, flock};

use super::cache::{Cache, CacheError, Kernel};
use super::named::Named;
use super::needs::{Missing, Need, missing};
use super::recipe::{CONFIG, PATCHES, SERIES, release_suffix};
use crate::trace::sha256;
pub use error::BuildError;
use error::at;
use own::Own;
pub use steps::COMPILED_ABOUT;
use steps::{Log, Steps};
use tree::OBJECTS;

/// The origin of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The package `linux-source-6.12`: installed, or else downloaded.
    Package,
    /// A tar archive of the source tree, or the tree itself, which is copied.
    Archive(PathBuf),
}

/// The parameters of a build.
#[derive(Debug)]
pub struct Build {
    /// The source.
    pub source: Source,
    /// The number of compilers that run at once.
    pub jobs: usize,
    /// True to build even if the cache has the kernel, and without kept objects.
    pub again: bool,
    /// A name, and what makes the kernel differ from the usual one.
    pub named: Option<Named>,
}

/// Prefix of the folders of builds; the next build removes those of killed ones.
const PREFIX: &str = "building-";
static MARKER: Marker = Marker { name: ".drivelab-build", text: "" };
/// The beginning of the version of a source that is a folder.
const OF_TREE: &str = "tree-";
/// The archive of such a folder.
const PACKED: &str = "source.tar";
/// The wanted options, in the folder of objects, where make begins.
const CONFIGURED: &str = "drivelab.config";
/// The option of make for that folder.
const IN_OBJECTS: &str = "O=drivelab-objects";

impl Build {
    /// Builds the kernel, or finds it in the cache; reports to `control`.
    ///
    /// A stopped build removes its files before it returns.
    pub fn run(&self, cache: &Cache, control: &Control<'_>) -> Result<Kernel, BuildError> {
        let needs = missing(Path::new("/"));
        let needs: Vec<Missing> = needs.into_iter().filter(|it| it.need == Need::Build).collect();
        if !needs.is_empty() {
            return Err(BuildError::Missing(needs));
        }
        self.run_below(cache, control)
    }

    /// Builds in a new folder in the cache, and removes it afterwards.
    fn run_below(&self, cache: &Cache, control: &Control<'_>) -> Result<Kernel, BuildError> {
        let folder = cache.folder()?;
        // Held until the kernel is in the cache.
        let _lock = cache.lock()?;
        let work = work_folder(&folder).map_err(at("make a folder for the build"))?;
        let log = Log::new(&folder).map_err(at("write the log of the build"))?;
        let steps =
            Steps { folder: work.folder().path(), log, control, is_counted: Cell::new(true) };
        let built = self.build(cache, &work, &steps);
        if let Err(BuildError::Stopped) = built {
            control.report(Event::Note(&format!(
                "guest kernel: removing `{}`; what is left of it, the next build removes",
                steps.folder.display()
            )));
        }
        // Files that cannot be removed only take space, and the next build tries again.
        let _ = work.remove();
        built
    }

    fn build(&self, cache: &Cache, work: &Marked, steps: &Steps<'_>) -> Result<Kernel, BuildError> {
        // Before anything that takes time: a file may be missing.
        let own = self.named.as_ref().map(Own::read).transpose()?;
        let own = own.unwrap_or_else(Own::none);
        steps.begin("source");
        let (archive, source) = self.find_source(steps)?;
        if !self.again
            && let Some(kernel) = self.kept(cache, &source, &own)?
        {
            return Ok(kernel);
        }
        let tree = self.common_tree(work, steps, (&archive, &source))?;
        let Some(named) = &self.named else {
            self.compile(steps, &tree, CONFIG)?;
            tree::keep_objects(cache, steps, (&tree, &source))?;
            return Ok(cache.add(&program(&tree), &source)?);
        };
        if self.again {
            own.apply(work, steps, &tree)?;
            self.compile(steps, &tree, &own.config)?;
        } else {
            self.compile_changes(cache, work, steps, (&tree, &source), &own)?;
        }
        Ok(cache.add_named(&program(&tree), &source, (named.name.clone(), own.changes))?)
    }

    /// Unpacks a source and applies the recipe's patches: what all its kernels share.
    fn common_tree(
        &self,
        work: &Marked,
        steps: &Steps<'_>,
        (archive, source): (&Path, &str),
    ) -> Result<Folder, BuildError> {
        steps.begin("unpacking");
        let tree = unpack(work.folder(), steps, archive)?;
        if source.starts_with(OF_TREE) {
            // A second copy of it takes more than a gigabyte; if it stays, the build removes it.
            let _ = work.folder().remove_file(PACKED);
            // Objects of another architecture would be taken for those of this build.
            self.make(steps, &tree, &["mrproper"])?;
        }
        steps.begin("patches");
        for (name, text) in PATCHES {
            apply(work, steps, &tree, (name, text.as_bytes())).map_err(|error| match error {
                BuildError::Failed { log, .. } => {
                    BuildError::OtherRelease { release: release_of(&tree), patch: name, log }
                }
                other => other,
            })?;
        }
        tree::set_back(steps, &tree)?;
        Ok(tree)
    }

    /// The kernel that was built before from the same, if any.
    fn kept(&self, cache: &Cache, source: &str, own: &Own) -> Result<Option<Kernel>, BuildError> {
        let Some(named) = &self.named else { return Ok(cache.find_source(source)?) };
        let Some(kernel) = cache.find_named(&named.name)? else { return Ok(None) };
        let is_same = kernel.source == source
            && kernel.changes == own.changes
            && kernel.recipe == super::recipe();
        if is_same { Ok(Some(kernel)) } else { Err(BuildError::Taken(named.name.clone())) }
    }

    /// Compiles what the changes of a kernel need, from the objects of its source without them.
    fn compile_changes(
        &self,
        cache: &Cache,
        work: &Marked,
        steps: &Steps<'_>,
        (tree, source): (&Folder, &str),
        own: &Own,
    ) -> Result<(), BuildError> {
        if !tree::take_objects(cache, steps, (tree, source))? {
            self.compile(steps, tree, CONFIG)?;
            tree::keep_objects(cache, steps, (tree, source))?;
        }
        own.apply(work, steps, tree)?;
        // Few files, and their number is not known.
        steps.is_counted.set(false);
        self.compile(steps, tree, &own.config).map_err(BuildError::of_kept_objects)
    }

    /// Compiles the tree with a configuration, as far as it has not been compiled.
    fn compile(&self, steps: &Steps<'_>, tree: &Folder, wanted: &str) -> Result<(), BuildError> {
        steps.begin("configuration");
        let objects = tree.make_or_open_folder(OBJECTS).map_err(at("make a folder for objects"))?;
        objects.replace(CONFIGURED, wanted.as_bytes()).map_err(at("write the configuration"))?;
        // make silently drops options that it does not know or whose dependencies are missing.
        self.make(steps, tree, &[IN_OBJECTS, "allnoconfig"])?;
        let config = fs::read_to_string(objects.path().join(".config"));
        let config = config.map_err(at("read the configuration"))?;
        if let Some(option) = lost(wanted, &config) {
            return Err(BuildError::Lost(option.to_owned()));
        }
        steps.begin("kernel");
        self.make(steps, tree, &[IN_OBJECTS, "linux"])
    }

    fn make(&self, steps: &Steps<'_>, tree: &Folder, targets: &[&str]) -> Result<(), BuildError> {
        let jobs = format!("-j{}", self.jobs.max(1));
        let version = format!("LOCALVERSION={}", release_suffix());
        let config = format!("KCONFIG_ALLCONFIG={CONFIGURED}");
        let options = ["ARCH=um", &jobs, &version, &config];
        steps.run("make", &[&options[..], targets].concat(), tree.path())
    }

    /// Returns the archive of the source, and its version.
    fn find_source(&self, steps: &Steps<'_>) -> Result<(PathBuf, String), BuildError> {
        if let Source::Archive(path) = &self.source {
            if path.is_dir() {
                return pack(steps, path);
            }
            let bytes = fs::read(path).map_err(CacheError::at("read", path))?;
            let path = std::path::absolute(path).map_err(at("find the source"))?;
            return Ok((path, format!("archive-{}", &sha256(&bytes)[..12])));
        }
        let package = format!("linux-source-{SERIES}");
        let archive = format!("usr/src/{package}.tar.xz");
        // The installed package first: it needs no network.
        let installed = Path::new("/").join(&archive);
        if installed.exists() {
            let version = steps.output("dpkg-query", &["-W", "-f", "${Version}", &package])?;
            return Ok((installed, version));
        }
        let downloaded = steps.run("apt-get", &["download", &package], steps.folder);
        downloaded.map_err(|error| match error {
            BuildError::Failed { last, .. } => BuildError::NoSource { last },
            BuildError::System { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                BuildError::NoSource { last: "this system has no apt-get".into() }
            }
            error => error,
        })?;
        let files = fs::read_dir(steps.folder).map_err(at("list the downloaded files"))?;
        let mut files = files.filter_map(|entry| Some(entry.ok()?.path()));
        let deb = files.find(|path| path.extension().is_some_and(|ending| ending == "deb"));
        let deb = deb.ok_or_else(|| BuildError::NoSource { last: "no package came".into() })?;
        let deb = deb.display().to_string();
        let version = steps.output("dpkg-deb", &["-f", &deb, "Version"])?;
        steps.run("dpkg-deb", &["-x", &deb, "package"], steps.folder)?;
        Ok((steps.folder.join("package").join(archive), version))
    }
}

impl Cache {
    /// Locks the folder against builds and removals until the result is dropped.
    ///
    /// # Errors
    /// Another process has locked it, or the folder cannot be used.
    pub fn lock(&self) -> Result<File, BuildError> {
        let folder = Folder::open(&self.folder()?);
        let file = folder.and_then(|folder| folder.create_or_open("lock"));
        let file = file.map_err(at("lock the cache"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(BuildError::Busy),
            Err(error) => Err(at("lock the cache")(error.into())),
        }
    }
}

/// Makes a folder for a build, and removes those of killed builds.
fn work_folder(folder: &Path) -> io::Result<Marked> {
    Marked::make_new(&Folder::open(folder)?, PREFIX, &MARKER)
}

/// Packs the tree of a source, without its history; returns the archive, and a version that is the
/// same for the same files.
fn pack(steps: &Steps<'_>, tree: &Path) -> Result<(PathBuf, String), BuildError> {
    if !tree.join("arch/um").is_dir() {
        return Err(BuildError::NoTree(tree.to_owned()));
    }
    let tree = std::path::absolute(tree).map_err(at("find the source"))?.display().to_string();
    let same = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];
    let (packed, of) =
        (["--create", "--file", PACKED, "--exclude-vcs"], ["--directory", &tree, "."]);
    steps.run("tar", &[&packed[..], &same, &of].concat(), steps.folder)?;
    let sum = steps.output("sha256sum", &[PACKED])?;
    let sum = sum.get(..12).unwrap_or(&sum);
    Ok((steps.folder.join(PACKED), format!("{OF_TREE}{sum}")))
}

/// Unpacks an archive; returns its top folder.
fn unpack(work: &Folder, steps: &Steps<'_>, archive: &Path) -> Result<Folder, BuildError> {
    let tree = work.make_folder("tree").map_err(at("make a folder for the source"))?;
    let archive = archive.display().to_string();
    steps.run("tar", &["-xf", &archive, "--strip-components=1"], tree.path())?;
    Ok(tree)
}

impl Own {
    /// Applies the patches of a kernel to a tree.
    fn apply(&self, work: &Marked, steps: &Steps<'_>, tree: &Folder) -> Result<(), BuildError> {
        steps.begin("patches of this kernel");
        (1..).zip(&self.patches).try_for_each(|(number, text)| {
            apply(work, steps, tree, (&format!("own-{number}.patch"), text))
        })
    }
}

/// Applies a patch to a tree.
fn apply(
    work: &Marked,
    steps: &Steps<'_>,
    tree: &Folder,
    (name, text): (&str, &[u8]),
) -> Result<(), BuildError> {
    work.folder().write_new(name, text).map_err(at("write a patch"))?;
    let file = steps.folder.join(name).display().to_string();
    steps.run("patch", &["-p1", "--forward", "--batch", "-i", &file], tree.path())
}

/// The release of a tree, of the first lines of its Makefile.
fn release_of(tree: &Folder) -> String {
    let makefile = fs::read_to_string(tree.path().join("Makefile")).unwrap_or_default();
    let values = ["VERSION", "PATCHLEVEL", "SUBLEVEL"].map(|name| {
        let mut lines = makefile.lines().take(10).filter_map(|line| line.split_once('='));
        lines.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
    });
    let known: Vec<String> = values.into_iter().flatten().collect();
    // Only a tree without the three lines of every release since 2.6 has none.
    if known.is_empty() { "of an unknown release".to_owned() } else { known.join(".") }
}

/// The kernel of a tree.
fn program(tree: &Folder) -> PathBuf {
    tree.path().join(OBJECTS).join("linux")
}

/// Returns the first option of `wanted` with another value in `config`.
fn lost<'a>(wanted: &'a str, config: &str) -> Option<&'a str> {
    let wanted = wanted.lines().filter(|line| line.starts_with("CONFIG_"));
    wanted.into_iter().find(|line| match line.strip_suffix("=n") {
        // An option that is off is a comment in a configuration.
        Some(name) => config.lines().any(|found| found.starts_with(&format!("{name}="))),
        None => config.lines().all(|found| found != *line),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn an_option_that_the_kernel_dropped_is_found() {
        let wanted = "# why\nCONFIG_A=y\nCONFIG_B=n\n";
        assert_eq!(lost(wanted, "CONFIG_A=y\n# CONFIG_B is not set\n"), None);
        assert_eq!(lost(wanted, "CONFIG_A=y\n"), None);
        assert_eq!(lost(wanted, "CONFIG_B=y\n"), Some("CONFIG_A=y"));
        assert_eq!(lost(wanted, "CONFIG_A=y\nCONFIG_B=y\n"), Some("CONFIG_B=n"));
    }

    #[test]
    fn the_release_of_a_tree_is_that_of_its_makefile() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Folder::open(folder.path()).unwrap();
        assert_eq!(release_of(&tree), "of an unknown release");
        let makefile = "# SPDX\nVERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 192\nEXTRAVERSION =\n";
        fs::write(folder.path().join("Makefile"), makefile).unwrap();
        assert_eq!(release_of(&tree), "6.1.192");
    }

    #[test]
    fn one_build_at_a_time_and_leftovers_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned());
        let held = cache.lock().unwrap();
        assert!(matches!(cache.lock(), Err(BuildError::Busy)));
        drop(held);
        let at = |name: &str| folder.path().join(name);
        for name in ["building-1-0/tree", "building-notes", "kept"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("building-1-0/.drivelab-build"), "").unwrap();
        fs::write(at("building-notes/thesis"), "x").unwrap();
        let work = work_folder(folder.path()).unwrap();
        assert!(!at("building-1-0").exists() && at("building-notes/thesis").exists());
        let path = work.folder().path().to_owned();
        work.remove().unwrap();
        assert!(!path.exists() && at("kept").exists());
    }

    #[test]
    fn a_tree_is_packed_without_its_history_and_named_by_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, text) in [
            ("one/arch/um/Makefile", "all:"),
            ("one/.git/HEAD", "x"),
            ("two/arch/um/Makefile", "all:"),
        ] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), text).unwrap();
        }
        let packed = |tree: &str| {
            let work = at(&format!("work-{tree}"));
            fs::create_dir(&work).unwrap();
            let (log, stop) = (Log::new(&work).unwrap(), AtomicBool::new(false));
            let control = Control::silent(&stop);
            let steps =
                Steps { folder: &work, log, control: &control, is_counted: Cell::new(true) };
            let (archive, version) = pack(&steps, &at(tree)).unwrap();
            let unpacked = unpack(&Folder::open(&work).unwrap(), &steps, &archive).unwrap();
            (version, fs::read_dir(unpacked.path()).unwrap().count())
        };
        let (one, two) = (packed("one"), packed("two"));
        assert_eq!((one.1, &one), (1, &two), "the same files, without .git");
        assert!(one.0.starts_with("tree-") && one.0.len() == 17, "{}", one.0);
        fs::write(at("two/arch/um/Makefile"), "other:").unwrap();
        fs::remove_dir_all(at("work-two")).unwrap();
        assert_ne!(packed("two").0, one.0);
        let (log, stop) = (Log::new(folder.path()).unwrap(), AtomicBool::new(false));
        let control = Control::silent(&stop);
        let steps =
            Steps { folder: folder.path(), log, control: &control, is_counted: Cell::new(true) };
        let other = pack(&steps, folder.path()).unwrap_err();
        assert!(matches!(other, BuildError::NoTree(_)), "{other}");
    }

    #[test]
    fn a_build_that_is_stopped_says_what_it_removes_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("linux.tar");
        fs::write(&archive, "not an archive").unwrap();
        let seen = Mutex::new(Vec::new());
        let observer = |event: Event<'_>| {
            let Event::Note(note) = event else { return };
            if let Some((_, rest)) = note.split_once("removing `") {
                let folder = PathBuf::from(rest.split('`').next().unwrap());
                assert!(folder.join("tree").exists());
                seen.lock().unwrap().push(folder);
            }
        };
        let check = |stop, expected: fn(&BuildError) -> bool| {
            // One each: a child of another test may hold the lock of the first for a moment.
            let kernels = folder.path().join(format!("kernels-{stop}"));
            let cache = Cache::new(kernels.clone());
            let stop = &AtomicBool::new(stop);
            let source = Source::Archive(archive.clone());
            let build = Build { source, jobs: 1, again: false, named: None };
            let error = build.run_below(&cache, &Control::new(stop, &observer)).unwrap_err();
            assert!(expected(&error), "{error}");
            let left = fs::read_dir(kernels).unwrap();
            let mut left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
            left.sort();
            assert_eq!(left, ["build.log", "lock"]);
        };
        check(true, |error| matches!(error, BuildError::Stopped));
        check(false, |error| matches!(error, BuildError::Failed { .. }));
        let [removed] = &seen.into_inner().unwrap()[..] else { panic!("it was said once") };
        assert!(!removed.exists());
    }

    #[test]
    fn a_cache_that_others_can_change_is_not_built_in() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let build = Build { source: Source::Package, jobs: 1, again: false, named: None };
        let cache = Cache::new(folder.path().join("kernels"));
        let error = build.run_below(&cache, &Control::unattended()).unwrap_err();
        assert!(error.to_string().contains("other users may rename files in"), "{error}");
    }
}
