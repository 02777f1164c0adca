//! Jobs whose files take the free space of their file systems (fio's `fill_device`).

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use drivelab_core::Refusal;
use drivelab_core::units::Bytes;
use drivelab_formats::fio::job::FileJob;

use crate::target;

/// The structures of a file system for a file take less than this part of its data.
const KEPT: u64 = 256;
const KEPT_MIN: Bytes = Bytes::mib(1);
/// A file ends with a whole block of any file system.
const BLOCK: u64 = 4096;

/// Gives each file an equal part of the free space of its file system, in addition to its present
/// length. A device has none: its job uses all of it without a size.
pub(super) fn resolve(
    jobs: &mut [FileJob],
    instead: Option<&str>,
    free_space: impl Fn(&Path) -> std::io::Result<Bytes>,
) -> Result<(), Refusal> {
    let mut ends: BTreeMap<PathBuf, Bytes> = BTreeMap::new();
    let mut by_device: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
    for target in jobs.iter().filter(|job| job.fills()).flat_map(|job| targets(job, instead)) {
        let folder = parent(&target);
        // A folder that does not exist is reported where the file is made.
        let Ok(about) = folder.metadata() else { continue };
        if is_file_to_be(&target) && ends.insert(target.clone(), length(&target)).is_none() {
            by_device.entry(about.dev()).or_default().push(target);
        }
    }
    for files in by_device.values() {
        let folder = parent(&files[0]);
        let free = free_space(&folder).map_err(|error| {
            let wrong = format!("the free space of {} cannot be read: {error}", folder.display());
            Refusal::machine(wrong).hint("give the job a `size`")
        })?;
        let kept = KEPT_MIN.get().max(free.get() / KEPT);
        let each = free.get().saturating_sub(kept) / files.len() as u64;
        debug_assert!(each <= free.get(), "the files fit into the free space");
        if each < BLOCK && files.iter().all(|file| ends[file].get() < BLOCK) {
            let wrong = format!(
                "`fill_device`: the file system of {} is full: {free} are free, and {} are kept \
                 for its structures",
                folder.display(),
                Bytes::new(kept),
            );
            return Err(Refusal::machine(wrong).hint("remove files from it"));
        }
        for file in files {
            let end = ends.get_mut(file).expect("each file has a length");
            *end = Bytes::new((end.get() + each) / BLOCK * BLOCK);
        }
    }
    // All copies have one size: the smallest.
    for job in jobs.iter_mut().filter(|job| job.fills()) {
        let ends = targets(job, instead).into_iter().filter_map(|target| ends.get(&target));
        if let Some(end) = ends.min() {
            job.fill_to(*end);
        }
    }
    Ok(())
}

fn targets(job: &FileJob, instead: Option<&str>) -> Vec<PathBuf> {
    let names = match instead {
        Some(target) => vec![target],
        None => job.targets.iter().map(String::as_str).collect(),
    };
    let files = names.into_iter().filter(|name| !name.starts_with(target::PREFIX));
    files.map(PathBuf::from).collect()
}

fn parent(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new(".")).to_owned()
}

/// True for a regular file, or one that does not exist yet.
fn is_file_to_be(path: &Path) -> bool {
    path.metadata().map_or(true, |about| about.is_file())
}

fn length(path: &Path) -> Bytes {
    Bytes::new(path.metadata().map_or(0, |about| about.len()))
}

#[cfg(test)]
mod tests {
    use drivelab_formats::fio::job::{Reading, parse};

    use super::*;

    /// The sizes of the jobs of a text on a file system with 100 MiB of free space.
    fn sizes(text: &str, folder: &Path) -> Vec<Option<Bytes>> {
        let text = text.replace("DIR", &folder.display().to_string());
        let nothing = |_: &str| None;
        let mut jobs = parse("f", &text, &Reading::new(&nothing)).unwrap();
        resolve(&mut jobs, None, |_| Ok(Bytes::mib(100))).unwrap();
        jobs.iter().map(|job| job.workload(None).ok()?.size).collect()
    }

    #[test]
    fn a_full_file_system_is_said_to_be_full() {
        let folder = tempfile::tempdir().unwrap();
        let text = format!("[a]\nrw=write\nfill_device\nfilename={}/f", folder.path().display());
        let nothing = |_: &str| None;
        let mut jobs = parse("f", &text, &Reading::new(&nothing)).unwrap();
        let refusal = resolve(&mut jobs, None, |_| Ok(Bytes::kib(300))).unwrap_err();
        assert!(refusal.to_string().contains("is full: 300k are free"), "{refusal}");
        // An existing file can still be written.
        std::fs::write(folder.path().join("f"), [1; 8192]).unwrap();
        resolve(&mut jobs, None, |_| Ok(Bytes::kib(300))).unwrap();
        assert_eq!(jobs[0].workload(None).unwrap().size, Some(Bytes::kib(8)));
    }

    #[test]
    fn files_share_the_free_space_and_keep_their_length() {
        let folder = tempfile::tempdir().unwrap();
        let whole = Some(Bytes::mib(99));
        let one = "[a]\nrw=write\ndirectory=DIR\nfill_device=1";
        assert_eq!(sizes(one, folder.path()), [whole]);
        let again = "[global]\nrw=write\nfilename=DIR/f\nfill_fs=1\n[a]\n[b]\nstonewall";
        assert_eq!(sizes(again, folder.path()), [whole, whole]);
        let two = "[global]\nrw=write\nbs=1m\ndirectory=DIR\nfill_device\n[a]\n[b]\noffset=1m";
        let half = Bytes::new(99 << 19);
        let behind = Bytes::new(half.get() - (1 << 20));
        assert_eq!(sizes(two, folder.path()), [Some(half), Some(behind)]);
        std::fs::write(folder.path().join("f"), vec![0; 8192]).unwrap();
        let longer = "[a]\nrw=write\nfilename=DIR/f\nfill_device";
        assert_eq!(sizes(longer, folder.path()), [Some(Bytes::new((99 << 20) + 8192))]);
    }

    #[test]
    fn a_size_is_kept_and_a_modelled_drive_has_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let sized = "[a]\nrw=write\nsize=1m\ndirectory=DIR\nfill_device=1";
        assert_eq!(sizes(sized, folder.path()), [Some(Bytes::mib(1))]);
        let off = "[a]\nrw=write\ndirectory=DIR\nfill_device=0";
        assert_eq!(sizes(off, folder.path()), [None]);
        let drive = "[a]\nrw=write\nfilename=drive:generic-nvme\nfill_device=1";
        assert_eq!(sizes(drive, folder.path()), [None]);
    }
}
