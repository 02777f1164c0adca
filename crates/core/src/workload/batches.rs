//! Numbers of requests submitted together, and of completions processed together.

use serde::{Deserialize, Serialize};

/// Batch sizes under fio's names (`iodepth_batch_submit`, `iodepth_batch_complete_min`,
/// `iodepth_batch_complete_max`). The default keeps the device's queue filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batches {
    /// Requests submitted together; default: adaptive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submit: Option<u32>,
    /// Completions to wait for, if that many are outstanding. 0 looks for completions before every
    /// request, and waits for one if the queue is full.
    pub complete_min: u32,
    /// Completions that are processed before looking for more; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub complete_max: Option<u32>,
}

impl Default for Batches {
    fn default() -> Self {
        Self { submit: None, complete_min: 1, complete_max: None }
    }
}

impl Batches {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
