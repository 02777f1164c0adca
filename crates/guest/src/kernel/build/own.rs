//! The files that make a kernel differ from the usual one.

use std::fs;
use std::path::Path;

use super::error::BuildError;
use crate::kernel::cache::CacheError;
use crate::kernel::named::{Change, Named};
use crate::kernel::recipe::CONFIG;
use crate::trace::sha256;

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
    pub(super) fn read(named: &Named) -> Result<Self, BuildError> {
        let mut own = Self::none();
        for path in &named.patches {
            let patch = own_change(&mut own.changes, path)?;
            // For `patch` an empty file is no error, and the kernel would be the usual one.
            if !changes_a_file(&patch) {
                return Err(BuildError::NoPatch(path.clone()));
            }
            own.patches.push(patch);
        }
        debug_assert_eq!(own.patches.len(), named.patches.len(), "each patch is read");
        for path in &named.fragments {
            let content = own_change(&mut own.changes, path)?;
            own.config = merged(&own.config, &String::from_utf8_lossy(&content));
        }
        Ok(own)
    }
}

/// Reads a file, and notes it.
fn own_change(changes: &mut Vec<Change>, path: &Path) -> Result<Vec<u8>, CacheError> {
    let content = fs::read(path).map_err(CacheError::at("read", path))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    changes.push(Change { file, sha256: sha256(&content) });
    Ok(content)
}

/// True if a line names a file, as in unified and context diffs and those of git.
fn changes_a_file(patch: &[u8]) -> bool {
    const NAMES: [&[u8]; 3] = [b"+++ ", b"*** ", b"diff --git "];
    let mut lines = patch.split(|byte| *byte == b'\n');
    lines.any(|line| NAMES.iter().any(|name| line.starts_with(name)))
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
        let text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        fs::write(&path, text).unwrap();
        let name = "one".parse().unwrap();
        let named = Named { name, patches: vec![path], fragments: Vec::new() };
        let own = Own::read(&named).unwrap();
        assert_eq!(own.patches, [text.as_bytes()]);
        assert_eq!(own.changes[0].file, "tags.patch");
        assert_eq!(own.changes[0].sha256, sha256(text.as_bytes()));
        assert_eq!(own.config, CONFIG);
        fs::write(&named.patches[0], "").unwrap();
        let wrong = Own::read(&named).unwrap_err().to_string();
        assert!(wrong.contains("tags.patch` is not a patch"), "{wrong}");
        let absent = Named { patches: Vec::new(), fragments: vec!["none.config".into()], ..named };
        let wrong = Own::read(&absent).unwrap_err().to_string();
        assert!(wrong.contains("none.config"), "{wrong}");
    }
}
