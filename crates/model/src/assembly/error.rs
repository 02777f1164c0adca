//! Why a drive cannot be built.

use crate::controller::Controller;

/// Why a drive cannot be built as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The drive does not fit the controller.
    #[error("{model} is a SCSI drive: attach it with `controller=scsi`, not `{controller}`")]
    WrongController {
        /// The drive's model.
        model: String,
        /// What was asked for.
        controller: Controller,
    },
    /// The drive has nothing that this option could set.
    #[error("{model} {nature}: it has no `{key}`")]
    NothingToSet {
        /// The drive's model.
        model: String,
        /// What the drive does or is, as a predicate: "is a fixed service time".
        nature: &'static str,
        /// The option.
        key: &'static str,
    },
    /// IDE knows no queuing.
    #[error("`ncq=on` needs `controller=ahci`: IDE has no command queuing")]
    NoQueuing,
    /// Drives cannot be put together so.
    #[error("{0}")]
    Shelf(&'static str),
}
