//! The attachment of a comparison's arms, as text.

#[cfg(test)]
pub(crate) mod tests;
mod text;

pub(crate) use text::text;
