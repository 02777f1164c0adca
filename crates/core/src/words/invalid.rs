//! The error of a function that reads or checks one value.

/// The reason that a value cannot be used, in words for the user.
///
/// The reader of a value knows neither where it stands nor what to do about it. Its caller adds
/// the file and the line ([`ConfigError`](crate::config::ConfigError)) or a hint
/// ([`Refusal`](crate::Refusal)).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub String);

impl Invalid {
    /// A value that is invalid as `message` says, which may be the error of a lower function.
    pub fn new(message: impl std::fmt::Display) -> Self {
        Self(message.to_string())
    }
}

impl From<String> for Invalid {
    fn from(message: String) -> Self {
        Self(message)
    }
}

impl From<&str> for Invalid {
    fn from(message: &str) -> Self {
        Self(message.to_owned())
    }
}

/// An [`Invalid`] with a message that is formatted as by `format!`.
#[macro_export]
macro_rules! invalid {
    ($($message:tt)+) => {
        $crate::Invalid(format!($($message)+))
    };
}
