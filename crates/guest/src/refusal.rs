//! Errors for a missing kernel or guest.

use drivelab_core::Refusal;

use crate::boot::GuestError;
use crate::kernel::{BuildError, CacheError, install_command};

const BUILD: &str = "build the kernel: drivelab guest kernel build";

/// The error for a missing kernel.
pub fn no_kernel() -> Refusal {
    Refusal::machine("no kernel for guests has been built or imported").hint(BUILD)
}

impl From<CacheError> for Refusal {
    fn from(error: CacheError) -> Self {
        match error {
            CacheError::System { operation, path, source } => {
                Self::at_path(operation, &path, source)
            }
            CacheError::Untrusted { .. } => Self::machine(error)
                .hint("name a folder that only you and root can change: --cache DIR"),
            CacheError::Changed { .. } => {
                Self::machine(error).hint("build it again: drivelab guest kernel build --again")
            }
            CacheError::Foreign { .. } => Self::request(error)
                .hint("import the program `linux` that `drivelab guest kernel build` made"),
            CacheError::Recipe { .. } => {
                Self::request(error).hint("import a kernel that this version of drivelab built")
            }
        }
    }
}

impl From<BuildError> for Refusal {
    fn from(error: BuildError) -> Self {
        let message = error.to_string();
        match error {
            BuildError::Cache(error) => error.into(),
            BuildError::Missing(missing) => {
                let names: Vec<&str> = missing.iter().map(|missing| missing.what).collect();
                let message = format!("a build of the kernel needs {}", names.join(", "));
                Self::machine(message).hint(install_command(&missing).unwrap_or_default())
            }
            BuildError::Busy => Self::machine(message).hint("wait for it to end, then try again"),
            BuildError::System { source, .. } => Self::machine(message).because(source),
            BuildError::NoSource { .. } => Self::machine(message)
                .hint("update the list of packages: sudo apt-get update")
                .hint("or name an archive of the source: --source linux-6.12.tar.xz"),
            BuildError::NoTree(_) => {
                Self::request(message).hint("name the folder that has Linux' own `Makefile`")
            }
            BuildError::NoPatch(_) => {
                Self::request(message).hint("make it with `diff -u` or `git diff`")
            }
            BuildError::Failed { log, from_kept, .. } => {
                let refusal =
                    Self::machine(message).hint(format!("read the log: {}", log.display()));
                if !from_kept {
                    return refusal;
                }
                refusal.hint("if it is no error of yours, build from nothing, too: --again")
            }
            BuildError::OtherRelease { log, .. } => Self::request(message)
                .hint("leave out --source, or name a tree or an archive of that series")
                .hint(format!("or change the source to what the patch expects: {}", log.display())),
            BuildError::Taken(_) => {
                Self::request(message).hint("give another --name, or --again to replace it")
            }
            BuildError::Lost(_) => {
                Self::machine(message).hint("build from the source of Linux 6.12")
            }
            BuildError::Stopped => Self::machine(message),
        }
    }
}

impl From<GuestError> for Refusal {
    fn from(error: GuestError) -> Self {
        let message = error.to_string();
        match error {
            GuestError::System { source, .. } => Self::machine(message).because(source),
            GuestError::Missing { .. } => {
                Self::machine(message).hint("see what else is missing: drivelab guest setup")
            }
            GuestError::Block(error) => {
                let refusal = Self::machine(message);
                match std::error::Error::source(&error).map(ToString::to_string) {
                    Some(source) => refusal.because(source),
                    None => refusal,
                }
            }
            _ => Self::machine(message).hint(BUILD),
        }
    }
}
