//! The file of a base profile.

/// The file of a base profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseText {
    /// Its name in messages.
    pub file: String,
    /// Its contents.
    pub text: String,
}
