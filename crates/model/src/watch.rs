//! Steps inside a drive, for external checks of its rules.

use drivelab_core::{Lba, Request, Sectors, Time};

use crate::tag::Tag;

/// One step of a drive; steps are reported in order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A request became a command on the wire.
    Sent {
        /// Time of the step.
        at: Time,
        /// The tag that it holds until it is done.
        tag: Tag,
        /// The request.
        request: Request,
    },
    /// The data of a write is in the volatile cache.
    Cached {
        /// Time of the step.
        at: Time,
        /// The write's tag.
        tag: Tag,
    },
    /// The medium was committed to an access.
    Begun {
        /// Time of the step.
        at: Time,
        /// The access.
        access: Access,
    },
    /// The current access has finished.
    Ended {
        /// Time of the step.
        at: Time,
    },
    /// The idle head continues to read beyond the request.
    ReadsAhead {
        /// First sector.
        from: Lba,
        /// Limit (exclusive).
        to: Lba,
    },
    /// The host received the completion of a command.
    Done {
        /// Time of the step.
        at: Time,
        /// Its tag.
        tag: Tag,
    },
}

/// One access of the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The command that it serves; `None` for data out of the write cache.
    pub tag: Option<Tag>,
    /// True for a write.
    pub write: bool,
    /// Its first sector.
    pub lba: Lba,
    /// Its length.
    pub sectors: Sectors,
    /// True for a read that continues read-ahead: its first sectors may have passed already.
    pub continues_read_ahead: bool,
    /// Time at which the first sector comes under the head.
    pub on_sector: Time,
    /// Time at which the last sector has passed.
    pub until: Time,
}
