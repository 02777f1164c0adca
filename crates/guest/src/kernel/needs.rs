//! The programs and files that builds and guests need, and the packages that contain them.

use std::path::{Path, PathBuf};

/// The purpose of a program or header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// To build the kernel.
    Build,
    /// To run a guest.
    Run,
}

/// A program or file that is not installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missing {
    /// The program or file.
    pub what: &'static str,
    /// The package of Debian and its derivatives that contains it.
    pub package: &'static str,
    /// Its purpose.
    pub need: Need,
}

const fn build(what: &'static str, package: &'static str) -> Missing {
    Missing { what, package, need: Need::Build }
}

const fn run(what: &'static str, package: &'static str) -> Missing {
    Missing { what, package, need: Need::Run }
}

/// A name with a `/` is a file, any other a program.
const NEEDED: &[Missing] = &[
    build("gcc", "gcc"),
    build("/usr/include/stdio.h", "libc6-dev"),
    build("make", "make"),
    build("flex", "flex"),
    build("bison", "bison"),
    build("bc", "bc"),
    build("patch", "patch"),
    build("tar", "tar"),
    build("xz", "xz-utils"),
    run("setarch", "util-linux"),
    run("setpriv", "util-linux"),
    run("ldd", "libc-bin"),
    run("busybox", "busybox-static"),
];

/// Folders of programs; guests and builds are started with the same `PATH`.
const PROGRAMS: [&str; 4] = ["usr/bin", "bin", "usr/sbin", "usr/local/bin"];

/// Returns the missing programs and files below `root`, which is `/` for this machine.
pub fn missing(root: &Path) -> Vec<Missing> {
    let is_missing = NEEDED.iter().filter(|needed| match needed.what.strip_prefix('/') {
        Some(file) => !root.join(file).exists(),
        None => find_program(root, needed.what).is_none(),
    });
    is_missing.copied().collect()
}

fn find_program(root: &Path, name: &str) -> Option<PathBuf> {
    PROGRAMS.iter().map(|folder| root.join(folder).join(name)).find(|path| path.is_file())
}

/// Returns the command that installs the missing packages.
pub fn install_command(missing: &[Missing]) -> Option<String> {
    let mut packages: Vec<&str> = missing.iter().map(|missing| missing.package).collect();
    // One package may contain several of the programs.
    packages.sort_unstable();
    packages.dedup();
    let packages = packages.join(" ");
    (!missing.is_empty())
        .then(|| format!("sudo apt-get install --no-install-recommends {packages}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_missing_program_is_named_with_its_package() {
        let root = tempfile::tempdir().unwrap();
        let all = missing(root.path());
        assert_eq!(all.len(), NEEDED.len());
        std::fs::create_dir_all(root.path().join("usr/bin")).unwrap();
        for needed in NEEDED.iter().filter(|needed| !["xz", "flex"].contains(&needed.what)) {
            let path = match needed.what.strip_prefix('/') {
                Some(file) => root.path().join(file),
                None => root.path().join("usr/bin").join(needed.what),
            };
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let few = missing(root.path());
        assert_eq!(few.iter().map(|missing| missing.what).collect::<Vec<_>>(), ["flex", "xz"]);
        let command = install_command(&few).unwrap();
        assert!(command.ends_with(" flex xz-utils"), "{command}");
        assert_eq!(install_command(&[]), None);
    }
}
