//! The text form of a modelled drive.

use std::fmt;
use std::str::FromStr;

use drivelab_core::config::nearest;

use super::{OptionError, Options};
use crate::profile;

/// Reference to a drive's profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileRef {
    /// A built-in profile, by name.
    Embedded(String),
    /// A profile in TOML, or a parameter file of `DiskSim` (`.parv`), by path.
    File(String),
}

/// A modelled drive: a profile and options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriveSpec {
    /// The profile.
    pub profile: ProfileRef,
    /// Its attachment and settings.
    pub options: Options,
}

/// Errors of parsing a drive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// Unknown profile.
    #[error("unknown drive `{name}`{hint}")]
    UnknownDrive {
        /// The given name.
        name: String,
        /// The nearest name, or the extension of a profile file; empty if neither helps.
        hint: String,
    },
    /// An option without a value.
    #[error("`{0}` is not an option: write `key=value`, for example `controller=ide`")]
    NotAnOption(String),
    /// A repeated option.
    #[error("`{0}` is given twice")]
    Twice(String),
    /// An unknown option or an invalid value.
    #[error(transparent)]
    Option(#[from] OptionError),
}

impl FromStr for DriveSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let text = text.strip_prefix("drive:").unwrap_or(text);
        let mut parts = text.split(',');
        let profile = profile_ref(parts.next().unwrap_or_default())?;
        let mut options = Options::default();
        let mut seen: Vec<&str> = Vec::new();
        for part in parts {
            let (key, value) =
                part.split_once('=').ok_or_else(|| SpecError::NotAnOption(part.to_owned()))?;
            if seen.contains(&key) {
                // Refused rather than overridden: the second value is often a typing error.
                return Err(SpecError::Twice(key.to_owned()));
            }
            seen.push(key);
            options.set(key, value)?;
        }
        Ok(Self { profile, options })
    }
}

fn profile_ref(name: &str) -> Result<ProfileRef, SpecError> {
    if has_extension(name, "toml") || has_extension(name, "parv") {
        return Ok(ProfileRef::File(name.to_owned()));
    }
    if profile::text(name).is_some() {
        return Ok(ProfileRef::Embedded(name.to_owned()));
    }
    let hint = match nearest(name, profile::names()) {
        Some(meant) => format!("; did you mean `{meant}`?"),
        None if name.contains(['/', '.']) => {
            "; a profile file must end in `.toml`, or in `.parv` for DiskSim's".to_owned()
        }
        None => String::new(),
    };
    Err(SpecError::UnknownDrive { name: name.to_owned(), hint })
}

fn has_extension(name: &str, extension: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, found)| found.eq_ignore_ascii_case(extension))
}

impl fmt::Display for ProfileRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Embedded(name) | Self::File(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for DriveSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "drive:{}", self.profile)?;
        for (key, value) in self.options.entries() {
            write!(f, ",{key}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_prints_canonically() {
        let check = |text: &str, expected: &str| {
            let spec: DriveSpec = text.parse().unwrap();
            assert_eq!(spec.to_string(), expected);
            assert_eq!(expected.parse(), Ok(spec));
        };
        check("seagate-st31000333as", "drive:seagate-st31000333as");
        check(
            "drive:seagate-st31000333as,tags=31,controller=ahci,ncq=true,link=1.5",
            "drive:seagate-st31000333as,controller=ahci,tags=31,link=1.5,ncq=on",
        );
        check("my/own.toml,write-cache=off,seed=7", "drive:my/own.toml,write-cache=off,seed=7");
        check("old/drive.parv", "drive:old/drive.parv");
    }

    #[test]
    fn slips_are_answered_with_what_was_probably_meant() {
        let check = |text: &str, part: &str| {
            let message = text.parse::<DriveSpec>().unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
        };
        check("seagate-st31000333", "did you mean `seagate-st31000333as`?");
        check("generic-5400,controler=ide", "did you mean `controller`?");
        check("generic-5400,controller=ahcy", "did you mean `ahci`?");
        check("generic-5400,ncq", "write `key=value`");
        check("generic-5400,tags=0", "from 1 to 256");
        check("generic-5400,tags=1,tags=2", "given twice");
        check("generic-5400,drives=0", "from 1 to 32");
        check("generic-5400,drives=3,raid=7", "`6`");
        check("generic-5400,drives=4,raid=50", "`50` is not a valid");
        check("ST31000333AS", "did you mean `seagate-st31000333as`?");
        check("generic-5400,drives=3,chunk=100k", "power of two");
        check("generic-5400,bus=pcie1x3", "`pcie1x8`");
        check("drives/mine.yaml", "must end in `.toml`");
        check("", "unknown drive ``");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: String) {
            let _ = text.parse::<DriveSpec>();
        }
    }
}
