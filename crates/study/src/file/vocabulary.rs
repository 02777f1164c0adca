//! Words of a study file that the caller knows the meaning of: settings of modelled drives, suites
//! and formats.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use drivelab_core::Invalid;
use drivelab_core::config::{ConfigError, Section};

use super::suite::Suite;

/// The keys of a modelled drive, spelled as in `drive:NAME,key=value`, the suites with their
/// options, and the formats that results are read from.
pub trait Vocabulary {
    /// Every key that an arm may set, in the order in which keys are printed.
    fn keys(&self) -> Vec<&'static str>;

    /// The setting of a key.
    ///
    /// # Errors
    /// The key cannot have that value; the message says what it can have.
    fn read(&self, key: &'static str, value: &str) -> Result<Setting, Invalid>;

    /// The suite called `name`; takes its options out of `section`.
    ///
    /// # Errors
    /// There is no such suite, or it does not have these options.
    fn suite(&self, name: &str, section: &mut Section) -> Result<Suite, ConfigError>;

    /// The tools whose output is read as theirs (`format = "fio"`).
    fn formats(&self) -> Vec<&'static str>;
}

/// A setting that was checked, with its value in the type of the caller, who knows the drives: a
/// value is read once.
#[derive(Clone)]
pub struct Setting {
    /// Its key.
    pub key: &'static str,
    /// Its value as it is printed.
    pub text: String,
    typed: Arc<dyn Any + Send + Sync>,
}

impl Setting {
    /// A setting of this value.
    pub fn new(key: &'static str, text: String, typed: impl Any + Send + Sync) -> Self {
        Self { key, text, typed: Arc::new(typed) }
    }

    /// Its value, if it is of this type.
    pub fn typed<T: Any>(&self) -> Option<&T> {
        self.typed.downcast_ref()
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {:?}", self.key, self.text)
    }
}

impl PartialEq for Setting {
    /// A key has one text for each value.
    fn eq(&self, other: &Self) -> bool {
        (self.key, &self.text) == (other.key, &other.text)
    }
}

/// Settings in the order of [`Vocabulary::keys`].
pub type Settings = Vec<Setting>;

/// Takes every setting of a section.
pub(super) fn settings(
    section: &mut Section,
    vocabulary: &dyn Vocabulary,
) -> Result<Settings, ConfigError> {
    let mut settings = Settings::new();
    for key in vocabulary.keys() {
        settings.extend(section.take_with(key, |value| vocabulary.read(key, value))?);
    }
    Ok(settings)
}
