//! Files and folders below a folder that a user named: created, replaced and removed by descriptor.
//!
//! A name that is checked and then resolved again may lead elsewhere by then: the owner of a folder
//! above it can replace it by a symbolic link. So a name is resolved once, to a descriptor, and
//! everything below it is done relative to that, one component at a time and never through a link.
#![forbid(unsafe_code)]

mod folder;
mod links;
mod marked;
mod owners;
mod replace;
mod target;

pub use folder::{Entry, Folder, Identity};
pub use marked::{Marked, Marker, Owner};
pub use owners::{Untrusted, trusted};
pub use replace::{NewFile, remove_file};
pub use target::{
    Target, create, look_up, read_regular, reopen_to_claim, reopen_to_read, reopen_to_write,
    replace,
};
