//! The kernels that are installed for this user.

use std::path::PathBuf;

use drivelab_core::Refusal;
use drivelab_guest::kernel::{Cache, Kernel, KernelName};

/// The folder of kernels.
pub fn cache(named: Option<PathBuf>) -> Result<Cache, Refusal> {
    let folder = named
        .or_else(|| Some(crate::paths::user_folder("XDG_CACHE_HOME", ".cache")?.join("kernels")));
    folder.map(Cache::new).ok_or_else(|| {
        Refusal::machine("this user has no home folder")
            .hint("name the folder of kernels: --cache DIR")
    })
}

/// The kernel that guests run, or another one by its name.
pub fn find(cache: &Cache, name: Option<&KernelName>) -> Result<Kernel, Refusal> {
    let Some(name) = name else { return cache.find()?.ok_or_else(drivelab_guest::no_kernel) };
    if let Some(kernel) = cache.find_named(name)? {
        return Ok(kernel);
    }
    let kernels = cache.list()?;
    let names: Vec<String> =
        kernels.iter().filter_map(|it| Some(it.name.as_ref()?.to_string())).collect();
    let build = format!("build it: drivelab guest kernel build --name {name}");
    let refusal = Refusal::machine(format!("no kernel `{name}` has been built or imported"));
    if names.is_empty() {
        return Err(refusal.hint(build));
    }
    Err(refusal.hint(build).hint(format!("or use one of {}", names.join(", "))))
}
