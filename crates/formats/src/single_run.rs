//! What is said of a result that is one run.

/// Why nothing follows from one run.
pub(crate) const SINGLE_RUN: &str =
    "one run: its variation is unknown, so nothing can be concluded from it alone";
