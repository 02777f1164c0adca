//! What is tried, and how.

use std::path::PathBuf;

use drivelab_core::units::{Bytes, Span};
use drivelab_serve::durability::LedgerSink;

/// What is tried, and how.
#[derive(Debug, Clone)]
pub(super) struct Config {
    pub(super) keeper: LedgerSink,
    /// What the pages take, and whether that is a wish that must be met.
    pub(super) size: Bytes,
    pub(super) exactly: bool,
    pub(super) runtime: Span,
    pub(super) rpm: Option<u64>,
    /// As JSON.
    pub(super) faults: Vec<String>,
    pub(super) allow_overwrite: bool,
    pub(super) allow_destructive: Vec<PathBuf>,
    pub(super) seed: u64,
}
