//! Findings to text, JSON, CSV, Markdown and HTML.
//!
//! Pure: same input, same bytes. Results are plain structs, renderers are functions of them.
#![forbid(unsafe_code)]

pub mod article;
pub mod attachment;
pub mod cells;
pub mod comparison;
pub mod cost;
pub mod crash;
pub mod drive;
pub mod durability;
pub mod explanation;
pub mod fio;
pub mod fleet;
pub mod history;
pub mod hosts;
pub mod imported;
pub mod outcome;
pub mod page;
pub mod publish;
pub mod replay;
pub mod run;
pub mod specimens;
pub mod study;
pub mod suite;
pub mod sweep;
pub mod text;
pub mod verification;
pub mod viewer;

mod ticks;

/// The version that made a result, as it stands in every result.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
