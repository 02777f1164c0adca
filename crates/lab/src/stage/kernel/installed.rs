//! The kernels that are installed for this user.

use std::path::PathBuf;

use drivelab_core::Refusal;
use drivelab_guest::kernel::{Cache, Kernel};

/// The folder of kernels.
pub fn cache(named: Option<PathBuf>) -> Result<Cache, Refusal> {
    let folder = named
        .or_else(|| Some(crate::paths::user_folder("XDG_CACHE_HOME", ".cache")?.join("kernels")));
    folder.map(Cache::new).ok_or_else(|| {
        Refusal::machine("this user has no home folder")
            .hint("name the folder of kernels: --cache DIR")
    })
}

/// The kernel that guests run.
pub fn find(cache: &Cache) -> Result<Kernel, Refusal> {
    cache.find()?.ok_or_else(drivelab_guest::no_kernel)
}
