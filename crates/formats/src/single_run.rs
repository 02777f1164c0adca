//! The remark on a result that is one run.

/// The reason why one run is not conclusive.
pub(crate) const SINGLE_RUN: &str =
    "one run: its variation is unknown, so nothing can be concluded from it alone";
