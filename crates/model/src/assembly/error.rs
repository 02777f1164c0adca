//! Why a drive cannot be built.

use crate::controller::{Controller, Link};

/// Why a drive cannot be built as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The drive does not fit the controller.
    #[error("{model} is a {kind} drive: attach it with `controller={right}`, not `{controller}`")]
    WrongController {
        /// The drive's model.
        model: String,
        /// What was asked for.
        controller: Controller,
        /// What it is.
        kind: &'static str,
        /// What would be right.
        right: Controller,
    },
    /// The drive does not fit the link.
    #[error("{model} has no link of that kind: `link={link}`; it has `{own}`")]
    WrongLink {
        /// The drive's model.
        model: String,
        /// What was asked for.
        link: Link,
        /// What the drive has.
        own: Link,
    },
    /// The flash cannot be modelled so.
    #[error("{model}: {message}")]
    Flash {
        /// The drive's model.
        model: String,
        /// What is wrong.
        message: String,
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
    /// Queues cannot be set up so.
    #[error("{0}")]
    Queues(&'static str),
    /// An option of a tier, and no tier.
    #[error("`{0}` needs a tier: add `tier=swapcache:NAME` or `tier=writeback:NAME`")]
    NoTier(&'static str),
    /// Drives cannot be put together so.
    #[error("{0}")]
    Shelf(&'static str),
}
