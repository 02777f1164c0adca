//! The causes that explain a difference, in words and for scripts.

mod json;
mod text;

pub use json::json;
pub use text::text;

#[cfg(test)]
mod tests;
