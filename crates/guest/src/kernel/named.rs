//! Kernels with a name: built with patches or options of the user, and kept next to the usual one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use drivelab_core::{Invalid, invalid};
use serde::{Deserialize, Serialize};

use super::recipe::CONFIG;
use crate::trace::sha256;

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

/// The contents of the files of a [`Named`].
#[derive(Debug, Default)]
pub(super) struct Own {
    pub(super) patches: Vec<Vec<u8>>,
    /// The configuration with the fragments in it.
    pub(super) config: String,
    pub(super) changes: Vec<Change>,
}

impl Own {
    /// The recipe without any change.
    pub(super) fn none() -> Self {
        Self { config: CONFIG.to_owned(), ..Self::default() }
    }

    /// Reads the files once: what was hashed is what is built.
    pub(super) fn read(named: &Named) -> io::Result<Self> {
        let mut own = Self::none();
        for path in &named.patches {
            own.patches.push(own_change(&mut own.changes, path)?);
        }
        for path in &named.fragments {
            let content = own_change(&mut own.changes, path)?;
            own.config = merged(&own.config, &String::from_utf8_lossy(&content));
        }
        Ok(own)
    }
}

/// Reads a file, and notes it.
fn own_change(changes: &mut Vec<Change>, path: &Path) -> io::Result<Vec<u8>> {
    let content = fs::read(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    changes.push(Change { file, sha256: sha256(&content) });
    Ok(content)
}

/// A configuration without the options that `fragment` sets, and the fragment.
fn merged(config: &str, fragment: &str) -> String {
    let set: Vec<&str> = fragment.lines().filter_map(option).collect();
    let kept = config.lines().filter(|line| option(line).is_none_or(|name| !set.contains(&name)));
    kept.chain(fragment.lines()).flat_map(|line| [line, "\n"]).collect()
}

/// The option that a line sets, or says is not set.
fn option(line: &str) -> Option<&str> {
    let line = line.trim();
    let off = line.strip_prefix("# ").and_then(|line| line.strip_suffix(" is not set"));
    let name = off.or_else(|| Some(line.split_once('=')?.0))?;
    name.starts_with("CONFIG_").then_some(name)
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

    #[test]
    fn a_fragment_overrides_the_configuration() {
        let config = "# why\nCONFIG_A=y\nCONFIG_B=n\nCONFIG_AB=1\n";
        let fragment = "# CONFIG_A is not set\nCONFIG_C=y\n";
        let expected = "# why\nCONFIG_B=n\nCONFIG_AB=1\n# CONFIG_A is not set\nCONFIG_C=y\n";
        assert_eq!(merged(config, fragment), expected);
        assert_eq!(merged(expected, "CONFIG_C=n"), expected.replace("C=y", "C=n"));
    }

    #[test]
    fn files_are_noted_by_name_and_checksum() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tags.patch");
        fs::write(&path, "x").unwrap();
        let name = "one".parse().unwrap();
        let named = Named { name, patches: vec![path], fragments: Vec::new() };
        let own = Own::read(&named).unwrap();
        assert_eq!(own.patches, [b"x"]);
        assert_eq!(own.changes[0].file, "tags.patch");
        assert_eq!(own.changes[0].sha256, sha256(b"x"));
        assert_eq!(own.config, CONFIG);
        let absent = Named { fragments: vec!["none.config".into()], ..named };
        assert!(Own::read(&absent).unwrap_err().to_string().starts_with("none.config: "));
    }
}
