//! The drive as a file: the kernel's FUSE protocol on a mount whose root is a regular file.
//!
//! The mount point itself is the drive, so that `losetup` and programs find it under a name of the
//! user's choosing. Read straight from `/dev/fuse`, because answers leave in another order than
//! requests come.

mod holders;
mod mount;
mod mounts;
mod request;
mod session;
mod wire;

pub(crate) use session::Mounted;
