//! Results to text, JSON, CSV, Markdown and HTML; foreign formats in.
//!
//! Pure: same input, same bytes. Results are plain structs, renderers are functions of them.
#![forbid(unsafe_code)]

pub mod study;
