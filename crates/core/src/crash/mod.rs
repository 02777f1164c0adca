//! A power cut under a workload: its time, the data that survives it, and the result of a check.

mod cut;
mod file_system;
mod finding;

pub use cut::{Cut, Outcome};
pub use file_system::{FileSystem, FileSystemKind, Fsck};
pub use finding::Finding;
