//! How the arms of a comparison were attached, as text.

#[cfg(test)]
pub(crate) mod tests;
mod text;

pub(crate) use text::text;
