//! The settings of modelled drives, as words that the caller knows the meaning of.

use drivelab_core::config::{ConfigError, Section};

/// The keys of a modelled drive, spelled as in `drive:NAME,key=value`.
pub trait Vocabulary {
    /// Every key that an arm may set, in the order in which keys are printed.
    fn keys(&self) -> Vec<&'static str>;

    /// The value of a key as it is printed.
    ///
    /// # Errors
    /// The key cannot have that value; the message says what it can have.
    fn read(&self, key: &'static str, value: &str) -> Result<String, String>;
}

/// Settings that were checked, in the order of [`Vocabulary::keys`].
pub type Settings = Vec<(&'static str, String)>;

/// Takes every setting that a section holds.
pub(super) fn settings(
    section: &mut Section,
    vocabulary: &dyn Vocabulary,
) -> Result<Settings, ConfigError> {
    let mut settings = Settings::new();
    for key in vocabulary.keys() {
        let value = section.take_with(key, |value| vocabulary.read(key, value))?;
        settings.extend(value.map(|value| (key, value)));
    }
    Ok(settings)
}
