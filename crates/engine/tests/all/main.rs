//! The engine from outside: on real files, and every target held against the one contract.
#![expect(clippy::unwrap_used, reason = "in a test a panic with its place is the report")]

mod conformance;
mod quiet;
mod refusals;
mod runs;
#[path = "../../src/testing.rs"]
mod scratch;

/// Says which part of a test this machine cannot do, and why.
pub(crate) fn left_out(what: &str, why: impl std::fmt::Display) {
    use std::io::Write as _;
    // Straight to the stream: the test runner would keep a passing test's output to itself.
    let _ = writeln!(std::io::stderr(), "left out: {what}: {why}");
}
