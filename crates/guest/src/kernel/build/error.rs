//! The reasons why no kernel was built.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::kernel::cache::CacheError;
use crate::kernel::named::KernelName;
use crate::kernel::needs::Missing;
use crate::kernel::recipe::SERIES;

/// The reason why no kernel was built.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Programs are missing.
    #[error("{} programs or files that a build needs are missing", .0.len())]
    Missing(Vec<Missing>),
    /// Another process builds a kernel in this cache.
    #[error("another process is building a kernel")]
    Busy,
    /// A system call or file operation failed.
    #[error("cannot {operation}")]
    System {
        /// The operation.
        operation: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The package is not available.
    #[error("the source of Linux {SERIES} cannot be downloaded: {last}")]
    NoSource {
        /// The end of what was printed.
        last: String,
    },
    /// A folder that was named as the source is something else.
    #[error("`{}` is not the source tree of Linux: it has no `arch/um`", .0.display())]
    NoTree(PathBuf),
    /// A file that was named as a patch is something else.
    #[error("`{}` is not a patch: no line of it names a file that changes", .0.display())]
    NoPatch(PathBuf),
    /// A step of the build failed.
    #[error("the kernel cannot be built: `{step}` failed: {last}")]
    Failed {
        /// The command.
        step: String,
        /// The end of what was printed.
        last: String,
        /// The log of the whole build.
        log: PathBuf,
        /// True if the build began with kept objects.
        from_kept: bool,
    },
    /// A patch of the recipe does not fit the source.
    #[error("`{patch}` does not apply to Linux {release}: the patches are made for {SERIES}")]
    OtherRelease {
        /// The release of the source.
        release: String,
        /// The patch.
        patch: &'static str,
        /// The log of the whole build.
        log: PathBuf,
    },
    /// A kernel of this name was built from something else.
    #[error("a kernel `{0}` exists, of another source, other patches or other options")]
    Taken(KernelName),
    /// The configuration lost an option.
    #[error("the configuration of the kernel lacks {0}")]
    Lost(String),
    /// The user asked to stop.
    #[error("interrupted")]
    Stopped,
}

impl BuildError {
    /// A failure of a build that began with kept objects.
    pub(super) fn of_kept_objects(self) -> Self {
        match self {
            Self::Failed { step, last, log, .. } => {
                Self::Failed { step, last, log, from_kept: true }
            }
            other => other,
        }
    }
}

pub(super) fn at(operation: &'static str) -> impl Fn(io::Error) -> BuildError {
    move |source| BuildError::System { operation, source }
}
