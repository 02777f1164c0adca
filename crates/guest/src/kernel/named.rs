//! Kernels with a name: built with patches or options of the user, and kept next to the usual one.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use drivelab_core::{Invalid, invalid};
use serde::{Deserialize, Serialize};

/// Maximum length of a name.
const NAME_MAX: usize = 40;

/// The name of a kernel: letters, digits, dots, dashes and underscores.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KernelName(String);

impl FromStr for KernelName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        // It is the name of a folder.
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if starts_well && text.len() <= NAME_MAX && text.chars().all(is_plain) {
            return Ok(Self(text.to_owned()));
        }
        Err(invalid!(
            "a kernel's name has up to {NAME_MAX} letters, digits, dots, dashes and underscores, \
             and begins with a letter or digit"
        ))
    }
}

impl TryFrom<String> for KernelName {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<KernelName> for String {
    fn from(name: KernelName) -> Self {
        name.0
    }
}

impl std::fmt::Display for KernelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.0)
    }
}

impl AsRef<Path> for KernelName {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

/// A file that makes a kernel differ from the usual one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The name of the file.
    pub file: String,
    /// The checksum of its content.
    pub sha256: String,
}

/// What a kernel with a name is built from, in addition to the recipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: KernelName,
    /// Patches, which are applied in this order after those of the recipe.
    pub patches: Vec<PathBuf>,
    /// Options of the configuration, which override those of the recipe and of earlier files.
    pub fragments: Vec<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_folders() {
        for name in ["one-tag", "6.12.1", "A_b", &"x".repeat(NAME_MAX)] {
            assert_eq!(name.parse::<KernelName>().unwrap().to_string(), name);
        }
        for name in ["", ".", "..", "a/b", "-x", "a b", "\u{e4}", &"x".repeat(NAME_MAX + 1)] {
            assert!(name.parse::<KernelName>().is_err(), "{name}");
        }
    }
}
