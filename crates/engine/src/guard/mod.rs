//! Protects data that is not ours.
//!
//! A writing workload destroys the contents of its target. A regular file is written if drivelab
//! created it, or if the user allowed its contents to be destroyed, and if no process keeps account
//! of its contents. A block device is written only if the user repeated its name, no visible
//! process has it open, nothing on this machine uses it, and it is not a member of a volume. It is
//! then kept open exclusively, so that nothing can claim it during the run.

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

/// Returns true if the open files of every process are visible: those of other users are visible
/// only to root.
pub fn sees_all_processes() -> bool {
    rustix::process::geteuid().is_root()
}
