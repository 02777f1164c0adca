//! Results of another tool as they were read: what each number is, and what is doubted of it.

mod json;
mod page;
mod rows;
mod text;

pub use json::{IMPORT_SCHEMA, json};
pub(crate) use page::page;
pub use text::text;

#[cfg(test)]
mod tests;
