//! The phases of a suite: the rows that its users know, its curves, and all other figures.

mod page;
mod picture;
mod rows;
mod text;

pub use page::page;
pub(crate) use text::text;
