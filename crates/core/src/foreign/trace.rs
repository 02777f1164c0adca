//! A recorded request: what a trace holds, and what a replay sends.

use crate::{Request, Span, Time};

/// One recorded request; its id counts from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// What was asked.
    pub request: Request,
    /// When it came, from the beginning of the trace, where that was recorded.
    pub at: Option<Time>,
    /// The pause between its completion and the next request, where that was recorded.
    pub think: Option<Span>,
    /// How long the recorded drive took, where that was recorded.
    pub measured: Option<Span>,
}
