//! The machine a run was made on.

use serde::{Deserialize, Serialize};

/// Enough of a machine to tell whether two runs may be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Kernel name and release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Processors that may be used.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Sixteen hex digits over the machine's own identity: tells machines apart, names none.
    pub id: String,
}
