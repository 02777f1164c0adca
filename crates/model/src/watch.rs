//! What happens inside a drive, for those who hold it against rules of their own.

use drivelab_core::{Lba, Request, Sectors, Time};

use crate::stack::Tag;

/// One step of a drive; steps come in the order in which they happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A request became a command on the wire.
    Sent {
        /// When.
        at: Time,
        /// The tag that it holds until it is done.
        tag: Tag,
        /// The request.
        request: Request,
    },
    /// The data of a write is in the volatile cache.
    Cached {
        /// When.
        at: Time,
        /// The write's tag.
        tag: Tag,
    },
    /// The medium was committed to an access.
    Begun {
        /// When.
        at: Time,
        /// What it does.
        access: Access,
    },
    /// The access under way is done.
    Ended {
        /// When.
        at: Time,
    },
    /// The head goes on reading after what was asked for, as long as nothing else is to be done.
    ReadsAhead {
        /// From here ...
        from: Lba,
        /// ... up to here at most.
        to: Lba,
    },
    /// The host learned that a command is done.
    Done {
        /// When.
        at: Time,
        /// Its tag.
        tag: Tag,
    },
}

/// What the medium does in one go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The command that it serves; `None` for data out of the write cache.
    pub tag: Option<Tag>,
    /// Whether it writes.
    pub write: bool,
    /// Its first sector.
    pub lba: Lba,
    /// How many sectors.
    pub sectors: Sectors,
    /// A read that goes on where read-ahead is: its first sectors may have passed already.
    pub goes_on: bool,
    /// When the first sector comes under the head.
    pub on_sector: Time,
    /// When the last one has passed.
    pub until: Time,
}
