//! The drive as a file: the kernel's FUSE protocol on a mount whose root is a regular file.
//!
//! The mount point itself is the drive, so `losetup` and programs find it under a name that the
//! user chooses. It is read directly from `/dev/fuse`, because answers leave in another order than
//! requests arrive.

mod holders;
mod mount;
mod mounts;
mod request;
mod session;
mod wire;

pub(crate) use session::Mounted;
