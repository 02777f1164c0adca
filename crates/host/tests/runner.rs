//! The tests of the crate: one program, one module a subject.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod advised;
mod asked;
mod captured;
mod described;
mod found;
mod hostile;
mod logged;
mod pages;
mod shown;
mod tables;
mod tree;
mod used;
