//! The tests of the crate: one program, one module a subject.

mod captured;
mod described;
mod found;
mod hostile;
mod pages;
mod published;
mod shown;
mod tree;
