//! No study file may panic, hang or allocate without bound.
#![no_main]

use drivelab_core::Invalid;
use drivelab_core::config::{ConfigError, Section};
use drivelab_model::options::Options;
use drivelab_study::file::{Setting, Suite};
use drivelab_study::{StudyFile, Vocabulary};

/// The settings of modelled drives, as the program has them.
struct DriveKeys;

impl Vocabulary for DriveKeys {
    fn keys(&self) -> Vec<&'static str> {
        Options::KEYS.to_vec()
    }

    fn read(&self, key: &'static str, value: &str) -> Result<Setting, Invalid> {
        let mut options = Options::default();
        options.set(key, value).map_err(Invalid::new)?;
        Ok(Setting::new(key, value.to_owned(), options))
    }

    /// Recipes have a target of their own.
    fn suite(&self, name: &str, section: &mut Section) -> Result<Suite, ConfigError> {
        Err(section.error(format!("there is no suite `{name}`")))
    }

    fn formats(&self) -> Vec<&'static str> {
        drivelab_formats::results::tools().collect()
    }
}

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = StudyFile::parse("fuzz.toml", text, &DriveKeys);
});
