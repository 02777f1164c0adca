//! Errors of building a drive.

use drivelab_core::Bytes;

use crate::controller::{Controller, Link};
use crate::elevator::Scheduler;

/// A combination of profile and options that makes no drive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The drive does not fit the controller.
    #[error("{model} is a {kind} drive: attach it with `controller={right}`, not `{controller}`")]
    WrongController {
        /// The drive's model.
        model: String,
        /// The requested setting.
        controller: Controller,
        /// Kind of the drive.
        kind: &'static str,
        /// The controller for that kind.
        right: Controller,
    },
    /// The drive does not fit the link.
    #[error("{model} has no link of that kind: `link={link}`; it has `{own}`")]
    WrongLink {
        /// The drive's model.
        model: String,
        /// The requested setting.
        link: Link,
        /// The drive's link.
        own: Link,
    },
    /// Flash geometry that cannot be modelled.
    #[error("{model}: {message}")]
    Flash {
        /// The drive's model.
        model: String,
        /// The reason.
        message: String,
    },
    /// An option that does not apply to this kind of drive.
    #[error("{model} {nature}: it has no `{key}`")]
    NothingToSet {
        /// The drive's model.
        model: String,
        /// A predicate of the drive: "is a fixed service time".
        nature: &'static str,
        /// The option.
        key: &'static str,
    },
    /// Command queuing on IDE.
    #[error("`ncq=on` needs `controller=ahci`: IDE has no command queuing")]
    NoQueuing,
    /// An invalid combination of queue options.
    #[error("{0}")]
    Queues(&'static str),
    /// An elevator that is not modelled.
    #[error(
        "the scheduler `{0}` is not modelled: use `--stage kernel` or `run --in kernel`, whose \
         kernel has it, or `scheduler=none` or `deadline`"
    )]
    NotModelled(Scheduler),
    /// A tier option without a tier.
    #[error("`{0}` needs a tier: add `tier=swapcache:NAME` or `tier=writeback:NAME`")]
    NoTier(&'static str),
    /// A device that would begin behind the end of its drive.
    #[error("`offset={offset}` lies behind the end of {model}")]
    BehindTheEnd {
        /// The drive's model.
        model: String,
        /// The requested setting.
        offset: Bytes,
    },
    /// An invalid array of drives.
    #[error("{0}")]
    Shelf(&'static str),
}
