//! Test support: a separate folder on a real disk.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder that is removed with everything in it.
///
/// It is below the build's own folder and not in `/tmp`, which is often in memory.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// A new folder for the test called `name`.
    pub(crate) fn new(name: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("drivelab-{name}-{}-{number}", std::process::id());
        let executable = std::env::current_exe().expect("a running test has a file");
        let folder = executable.parent().expect("a file lies in a folder").join(name);
        fs::create_dir_all(&folder).expect("the build's folder can be written");
        Self { folder }
    }

    /// The path of `name` in it.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A file with this data.
    pub(crate) fn file(&self, name: &str, data: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, data).expect("the build's folder can be written");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that remains is no reason to fail a test.
        let _ = fs::remove_dir_all(&self.folder);
    }
}
