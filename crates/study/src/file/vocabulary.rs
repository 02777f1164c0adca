//! Words of a study file that the caller knows the meaning of: settings of modelled drives, suites
//! and formats.

use drivelab_core::config::{ConfigError, Section};

use super::suite::Suite;

/// The keys of a modelled drive, spelled as in `drive:NAME,key=value`, the suites with their
/// options, and the formats that results are read from.
pub trait Vocabulary {
    /// Every key that an arm may set, in the order in which keys are printed.
    fn keys(&self) -> Vec<&'static str>;

    /// The value of a key as it is printed.
    ///
    /// # Errors
    /// The key cannot have that value; the message says what it can have.
    fn read(&self, key: &'static str, value: &str) -> Result<String, String>;

    /// The suite called `name`; takes its options out of `section`.
    ///
    /// # Errors
    /// There is no such suite, or it does not have these options.
    fn suite(&self, name: &str, section: &mut Section) -> Result<Suite, ConfigError>;

    /// The tools whose output is read as theirs (`format = "fio"`).
    fn formats(&self) -> Vec<&'static str>;
}

/// Settings that were checked, in the order of [`Vocabulary::keys`].
pub type Settings = Vec<(&'static str, String)>;

/// Takes every setting of a section.
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
