//! Getting what was written out of the host's memory, as far as this process may.

use std::fs::OpenOptions;
use std::io::{self, Write as _};

use drivelab_core::Invalid;
use drivelab_core::config::{Choice, Value};
use drivelab_core::record::{Mark, MarkId};
use drivelab_files::Folder;
use rustix::fs::{Access, Advice};

/// The moments at which the page cache is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CacheDrop {
    /// Before the first phase.
    Run,
    /// Before each phase.
    Phases,
    /// Never.
    Never,
}

impl Choice for CacheDrop {
    const WHAT: &'static str = "moment to drop the page cache";
    const NAMES: &'static [(&'static str, Self)] =
        &[("run", Self::Run), ("phases", Self::Phases), ("never", Self::Never)];
}

impl Value for CacheDrop {
    fn read(text: &str) -> Result<Self, Invalid> {
        Self::from_name(text)
    }
}

/// The part of the cache that could be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// Everything, names and inodes included.
    All,
    /// The contents of files.
    Data,
    /// Nothing.
    Nothing,
}

impl Dropped {
    pub(crate) fn mark(self) -> Option<Mark> {
        let message = match self {
            Self::All => return None,
            Self::Data => {
                "only the contents of files were dropped from memory (posix_fadvise): names and \
                 inodes stayed in it; dropping everything requires root"
            }
            Self::Nothing => "nothing could be dropped from memory",
        };
        Some(Mark { id: MarkId::PageCache, message: message.into() })
    }
}

/// Of the kernel; `Documentation/admin-guide/sysctl/vm.rst`: 3 drops page cache, names and inodes.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// Returns true if this process may drop the page cache of the whole machine.
pub(crate) fn drops_everything() -> bool {
    rustix::fs::access(DROP_CACHES, Access::WRITE_OK).is_ok()
}

/// Writes out what lies below `folder`, and drops it from memory.
pub(crate) fn drop_below(folder: &Folder) -> io::Result<Dropped> {
    // Only clean pages are dropped.
    rustix::fs::syncfs(folder)?;
    let everything = OpenOptions::new().write(true).open(DROP_CACHES);
    if everything.and_then(|mut file| file.write_all(b"3\n")).is_ok() {
        return Ok(Dropped::All);
    }
    Ok(if drop_data(folder).is_ok() { Dropped::Data } else { Dropped::Nothing })
}

fn drop_data(folder: &Folder) -> io::Result<()> {
    for entry in folder.entries()? {
        if entry.is_folder {
            drop_data(&folder.folder(&entry.name)?)?;
        // A file that cannot be opened stays in memory, as it does for any other program.
        } else if let Ok(file) = folder.read(&entry.name) {
            // A link holds nothing, and is not opened.
            rustix::fs::fadvise(file, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn data_can_be_dropped_file_by_file() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        fs::write(dir.path().join("sub/file"), "data").unwrap();
        drop_data(&Folder::open(dir.path()).unwrap()).unwrap();
        assert!(Dropped::Data.mark().unwrap().message.contains("posix_fadvise"));
        assert_eq!(Dropped::All.mark(), None);
    }
}
