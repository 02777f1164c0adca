//! A matrix of cells in text, JSON and pages.
//!
//! The picture is the same for arms of a study and for one set of real drives: plain SVG and
//! tables, which need no script.

mod heat;
mod json;
mod measured;
mod page;
mod panel;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use json::means;
pub use measured::{html, json, text};
pub(crate) use page::section;
pub(crate) use text::summary;
