//! The settings of a durability trial.

use std::path::PathBuf;

use drivelab_core::units::{Bytes, Span};
use drivelab_serve::durability::LedgerSink;

/// The settings of a trial.
#[derive(Debug, Clone)]
pub(super) struct Config {
    pub(super) keeper: LedgerSink,
    /// The size of all pages; `exactly` if no smaller size will do.
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
