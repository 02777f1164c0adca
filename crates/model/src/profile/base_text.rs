//! A file that another file names.

/// A file that another one names: its name for messages, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseText {
    /// The file, as messages should call it.
    pub file: String,
    /// Its contents.
    pub text: String,
}
