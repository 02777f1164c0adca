//! Keeps data that is not ours.
//!
//! A writing workload destroys what its target holds. A regular file is written when drivelab made
//! it, or when the user said that its contents may go. A block device is written only when the user
//! repeated its name, nothing on this machine uses it, and it is no member of a volume; it is then
//! held open exclusively, so that nothing can begin to use it during the run.

mod contents;
mod device;
mod error;
mod signature;
mod tree;
mod users;
mod volume;

pub(crate) use contents::holds_only_ours;
pub(crate) use device::{claim, disk_under};
pub use error::{GuardError, Use};
pub use signature::Membership;
pub(crate) use users::of_file;
