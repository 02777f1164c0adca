//! The cost of a command in a guest: the script that runs it, and what the guest says about it.

mod calls;
mod chunks;
mod extents;
mod frame;
mod outcome;
mod scene;

pub use calls::{Call, CallKind, Calls};
pub use chunks::{Chunks, OWNER_OF_LOG, is_tree_block, owner};
pub use extents::{Extent, extents};
pub use frame::Frame;
pub use outcome::{CostRun, CostRunError, Phases, cost_run};
pub use scene::{CostScene, FILESYSTEM_SIZE, Recorded};
