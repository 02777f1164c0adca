//! The kernel of the laboratory: built from a distribution's source, kept, and found again.

mod build;
mod cache;
mod named;
mod needs;
mod objects;
mod packed;
mod recipe;

pub use build::{Build, BuildError, COMPILED_ABOUT, Source};
pub use cache::{Cache, CacheError, Kernel};
pub use named::{Change, KernelName, Named};
pub use needs::{Missing, Need, install_command, missing};
pub use objects::Objects;
pub use recipe::recipe;
