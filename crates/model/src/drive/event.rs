//! What may happen next.

use drivelab_core::{IoError, RequestId, ServedBy};

/// What happens inside a drive.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// Something may have become ready for an idle medium.
    Wake,
    /// The medium has done what it was committed to.
    MediumFree,
    /// The host learns that the command with this tag is done.
    Done { tag: u8, served_by: ServedBy },
    /// A request that never became a command is answered.
    Answered { id: RequestId, result: Result<(), IoError> },
}
