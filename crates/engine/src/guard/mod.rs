//! Keeps data that is not ours.
//!
//! A writing workload destroys what its target holds. A regular file is written when drivelab made
//! it, or when the user said that its contents may go, and nobody keeps account of what is written
//! to it. A block device is written only when the user repeated its name, no process that can be
//! seen has it open, nothing on this machine uses it, and it is no member of a volume; it is then
//! held open exclusively, so that nothing can begin to use it for itself during the run.

mod contents;
mod device;
mod error;
mod judge;
mod locks;
mod signature;
mod tree;
mod volume;

pub(crate) use contents::{holds_only_ours, note_laid_out};
pub(crate) use device::{WritableTarget, claim, disk_under, of_file};
pub use error::{GuardError, Use};
pub(crate) use locks::{LockHolder, alone, share};
pub use signature::Membership;
pub(crate) use tree::Disk;

/// Whether the open files of every process can be seen: those of other users only by root.
pub fn sees_all_processes() -> bool {
    rustix::process::geteuid().is_root()
}
