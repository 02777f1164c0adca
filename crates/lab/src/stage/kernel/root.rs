//! The root of a guest: busybox, this program, and what a run needs of this machine's programs.

use std::path::{Path, PathBuf};

use drivelab_guest::initramfs::Initramfs;

use drivelab_core::{AtPath as _, Refusal};

const BUSYBOX: [&str; 2] = ["/usr/bin/busybox", "/bin/busybox"];
/// Folders of programs, `PATH` first: that of a user has no `sbin`.
const PROGRAMS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The root of a guest in which `command` is run.
pub(super) fn root(command: &str) -> Result<Initramfs, Refusal> {
    let busybox = find_busybox()?;
    let root = Initramfs::new(busybox, command).at_path("read", busybox)?;
    with_this_program(root)
}

/// The program that is all tools of a guest.
pub(super) fn find_busybox() -> Result<&'static Path, Refusal> {
    let found = BUSYBOX.iter().map(Path::new).find(|path| path.exists());
    found.ok_or_else(|| {
        let failure = Refusal::machine("`busybox` is not installed");
        failure.hint("see what else is missing: drivelab guest setup")
    })
}

pub(super) fn with_this_program(mut root: Initramfs) -> Result<Initramfs, Refusal> {
    let own: PathBuf = std::env::current_exe()?;
    root.add_program("drivelab", &own).at_path("read", &own)?;
    Ok(root)
}

/// Adds a program, by its name or its path.
pub(crate) fn add_program(root: &mut Initramfs, program: &Path) -> Result<(), Refusal> {
    let Some(name) = program.file_name().and_then(|name| name.to_str()) else {
        let message = format!("`{}` is not a program", program.display());
        return Err(Refusal::request(message).hint("name a program, or its path"));
    };
    let Some(path) = program_here(program) else {
        let message = format!("the program `{}` is not installed", program.display());
        return Err(Refusal::machine(message).hint("install it, or give its path"));
    };
    root.add_program(name, &path).at_path("read", &path)
}

/// Adds the program that makes a file system or a stack, of a package of Debian.
pub(crate) fn add_maker(root: &mut Initramfs, program: &str, package: &str) -> Result<(), Refusal> {
    add_program(root, Path::new(program))
        .map_err(|failure| failure.hint(format!("install it: sudo apt-get install {package}")))
}

/// The path of a program: a name is looked up, a path is taken as it is.
pub(crate) fn program_here(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.exists().then(|| program.to_owned());
    }
    let own = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&own).chain(std::env::split_paths(PROGRAMS));
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_its_name_and_a_missing_one_is_named() {
        assert!(program_here(Path::new("sh")).is_some_and(|path| path.is_absolute()));
        assert_eq!(program_here(Path::new("/no/such")), None);
        let failure = add_program(&mut Initramfs::default(), Path::new("no-such")).unwrap_err();
        assert!(failure.to_string().contains("`no-such` is not installed"), "{failure}");
    }
}
