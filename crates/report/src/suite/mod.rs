//! The phases of a suite: the rows that its users know, its curves, and all other figures.

mod page;
mod picture;
mod rows;
mod text;

pub(crate) use page::{pictures, section, transfer};
pub(crate) use text::text;
