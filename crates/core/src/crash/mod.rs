//! A power cut under a workload: when, what survives it, and what a check then finds.

mod cut;
mod file_system;
mod finding;

pub use cut::{Cut, Outcome};
pub use file_system::{FileSystem, FileSystemKind, Fsck};
pub use finding::Finding;
