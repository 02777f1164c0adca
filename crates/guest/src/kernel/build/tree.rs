//! The tree of a build: what all kernels of a source share, and the objects of that.
//!
//! make compares times of files. Those of the source are long ago, those of kept objects later, and
//! those of files that a patch changes are of today, so that what depends on them is compiled.

use drivelab_core::control::Event;
use drivelab_files::Folder;

use super::error::{BuildError, at};
use super::steps::Steps;
use crate::kernel::cache::Cache;
use crate::trace::sha256;

/// The folder of objects. As a folder of the tree it makes all paths in them relative
/// (`srctree := ..` in Linux' `Makefile`), so that they fit a tree that is elsewhere.
pub(super) const OBJECTS: &str = "drivelab-objects";
/// The packed objects, before they are in the cache.
const PACKED: &str = "objects.tar.xz";
/// The time of all files of the source: 2000-01-01.
const SOURCE_TIME: &str = "--date=@946684800";
/// The time of all kept objects: 2001-01-01.
const OBJECTS_TIME: &str = "--mtime=@978307200";
/// Files that are linked again in any case, and would be most of the archive.
const LINKED: [&str; 4] =
    ["--exclude=./vmlinux", "--exclude=./vmlinux.o", "--exclude=./linux", "--exclude=./.tmp_*"];

/// Gives all files of the source one time, which is before that of any object.
pub(super) fn set_back(steps: &Steps<'_>, tree: &Folder) -> Result<(), BuildError> {
    let touch = ["-type", "f", "-exec", "touch", SOURCE_TIME, "{}", "+"];
    steps.run("find", &[&["."][..], &touch].concat(), tree.path())
}

/// Unpacks the kept objects of a source into its tree; returns whether they were there.
pub(super) fn take_objects(
    cache: &Cache,
    steps: &Steps<'_>,
    (tree, source): (&Folder, &str),
) -> Result<bool, BuildError> {
    let Some(kept) = cache.objects_of(source, &compiler(steps)?) else { return Ok(false) };
    let objects = tree.make_empty_folder(OBJECTS).map_err(at("make a folder for objects"))?;
    let archive = kept.path.display().to_string();
    match steps.run("tar", &["-xf", &archive], objects.path()) {
        Ok(()) => Ok(true),
        Err(BuildError::Stopped) => Err(BuildError::Stopped),
        // They save time and nothing else: without them everything is compiled.
        Err(_) => {
            steps.begin("the kept objects cannot be unpacked; building from nothing");
            let emptied = tree.make_empty_folder(OBJECTS);
            emptied.map(|_| false).map_err(at("make a folder for objects"))
        }
    }
}

/// Keeps the objects of a tree for later builds, if that is possible.
pub(super) fn keep_objects(
    cache: &Cache,
    steps: &Steps<'_>,
    (tree, source): (&Folder, &str),
) -> Result<(), BuildError> {
    debug_assert!(tree.path().join(OBJECTS).is_dir(), "they were just made");
    let archive = steps.folder.join(PACKED);
    let file = format!("--file={}", archive.display());
    let how = ["--create", &file, "--use-compress-program=xz -0 -T0", "--sort=name", OBJECTS_TIME];
    let what = ["--owner=0", "--group=0", "--numeric-owner", "."];
    let packed = steps.run("tar", &[&how[..], &LINKED, &what].concat(), &tree.path().join(OBJECTS));
    let kept = match packed {
        Err(BuildError::Stopped) => return Err(BuildError::Stopped),
        Err(error) => Err(error.to_string()),
        Ok(()) => {
            let kept = cache.keep_objects(&archive, (source, &compiler(steps)?));
            kept.map_err(|error| error.to_string())
        }
    };
    // The kernel is built all the same, for instance on a disk that is full by now.
    let note = match kept {
        Ok(kept) => format!(
            "guest kernel: keeping {} of objects, with which a build with a patch compiles only \
             what that changes; remove them: drivelab guest kernel remove --objects",
            kept.size().about()
        ),
        Err(why) => format!("guest kernel: the objects are not kept: {why}"),
    };
    steps.control.report(Event::Note(&note));
    Ok(())
}

/// Names the compiler and linker: objects of another one are not taken.
fn compiler(steps: &Steps<'_>) -> Result<String, BuildError> {
    let versions = [steps.output("gcc", &["--version"])?, steps.output("ld", &["--version"])?];
    Ok(sha256(versions.concat().as_bytes())[..8].to_owned())
}
