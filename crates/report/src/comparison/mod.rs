//! A comparison of results that are already there: its text, JSON and page.

mod form;
mod json;
mod page;
mod text;
mod words;

pub use form::form;
pub use json::{COMPARE_SCHEMA, json};
pub use page::About;
pub(crate) use page::page;
pub use text::{short, text};
pub(crate) use words::words;

#[cfg(test)]
pub(crate) mod tests;
