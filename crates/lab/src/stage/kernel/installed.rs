//! The kernels that are installed: those of this user, and those of a package.

use std::path::PathBuf;

use drivelab_core::Refusal;
use drivelab_guest::kernel::{Cache, Kernel, KernelName};

/// The folder of kernels of the package `drivelab-kernel`, which only root can change.
const OF_PACKAGES: &str = "/usr/lib/drivelab/kernels";

/// The folder of kernels of this user.
pub fn cache(named: Option<PathBuf>) -> Result<Cache, Refusal> {
    let folder = named
        .or_else(|| Some(crate::paths::user_folder("XDG_CACHE_HOME", ".cache")?.join("kernels")));
    folder.map(Cache::new).ok_or_else(|| {
        Refusal::machine("this user has no home folder")
            .hint("name the folder of kernels: --cache DIR")
    })
}

/// The kernel that guests run unless a name is asked for, if there is one: of this user, else of a
/// package.
pub fn usual(cache: &Cache) -> Result<Option<Kernel>, Refusal> {
    usual_in(&[cache, &Cache::new(OF_PACKAGES.into())])
}

/// The kernel that guests run, or another one by its name: of this user, else of a package.
pub fn find(cache: &Cache, name: Option<&KernelName>) -> Result<Kernel, Refusal> {
    find_in(&[cache, &Cache::new(OF_PACKAGES.into())], name)
}

/// The kernels of this user, then those of a package.
pub fn list(cache: &Cache) -> Result<Vec<Kernel>, Refusal> {
    let mut kernels = cache.list()?;
    kernels.extend(Cache::new(OF_PACKAGES.into()).list()?);
    Ok(kernels)
}

fn usual_in(caches: &[&Cache]) -> Result<Option<Kernel>, Refusal> {
    // A kernel that this user made or imported was meant to be used.
    for cache in caches {
        if let Some(kernel) = cache.find()? {
            return Ok(Some(kernel));
        }
    }
    Ok(None)
}

fn find_in(caches: &[&Cache], name: Option<&KernelName>) -> Result<Kernel, Refusal> {
    let Some(name) = name else {
        return usual_in(caches)?.ok_or_else(drivelab_guest::no_kernel);
    };
    let mut names = Vec::new();
    for cache in caches {
        if let Some(kernel) = cache.find_named(name)? {
            return Ok(kernel);
        }
        names.extend(cache.list()?.into_iter().filter_map(|it| Some(it.name?.to_string())));
    }
    let build = format!("build it: drivelab guest kernel build --name {name}");
    let refusal = Refusal::machine(format!("no kernel `{name}` has been built or imported"));
    if names.is_empty() {
        return Err(refusal.hint(build));
    }
    Err(refusal.hint(build).hint(format!("or use one of {}", names.join(", "))))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::*;

    /// A program that prints what a kernel of this drivelab prints.
    fn program(folder: &Path, version: &str) -> PathBuf {
        let path = folder.join(version);
        let recipe = drivelab_guest::kernel::recipe();
        fs::write(&path, format!("#!/bin/sh\necho {version}-drivelab-{recipe}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_kernel_of_this_user_comes_before_that_of_a_package() {
        let folder = tempfile::tempdir().unwrap();
        let [own, packaged] = ["own", "packaged"].map(|name| Cache::new(folder.path().join(name)));
        let both = [&own, &packaged];
        assert_eq!(usual_in(&both).unwrap(), None);
        let name: KernelName = "one-tag".parse().unwrap();
        let of_package = packaged.import(&program(folder.path(), "6.12.1"), None).unwrap();
        assert_eq!(find_in(&both, None).unwrap(), of_package);
        let unnamed = find_in(&both, Some(&name)).unwrap_err();
        assert!(unnamed.to_string().contains("no kernel `one-tag`"), "{unnamed}");
        let named = packaged.import(&program(folder.path(), "6.12.2"), Some(name.clone())).unwrap();
        assert_eq!(find_in(&both, Some(&name)).unwrap(), named);
        let of_user = own.import(&program(folder.path(), "6.12.3"), None).unwrap();
        assert_eq!(find_in(&both, None).unwrap(), of_user);
    }
}
