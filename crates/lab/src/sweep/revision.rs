//! The sources that a model was built from. The build script and tests use this.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A hash of some files and of all below some folders, by name and content (FNV-1a).
pub(crate) fn of(folders: &[PathBuf]) -> io::Result<u64> {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for folder in folders {
        add(&mut hash, folder, Path::new(""))?;
    }
    Ok(hash)
}

fn add(hash: &mut u64, folder: &Path, name: &Path) -> io::Result<()> {
    // A file joined with no name would end in a slash.
    let is_itself = name.as_os_str().is_empty();
    let path = if is_itself { folder.to_owned() } else { folder.join(name) };
    if path.is_dir() {
        let mut names = Vec::new();
        for entry in fs::read_dir(&path)? {
            names.push(name.join(entry?.file_name()));
        }
        // The order of `read_dir` differs between file systems.
        names.sort();
        return names.iter().try_for_each(|name| add(hash, folder, name));
    }
    let content = fs::read(&path)?;
    for part in [name.as_os_str().as_encoded_bytes(), &content] {
        // With its length, so that a name cannot run into the content.
        for byte in (part.len() as u64).to_le_bytes().iter().chain(part) {
            // FNV-1a: the standard library does not promise to keep its hash.
            *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_every_byte_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::create_dir(path.join("disk")).unwrap();
        fs::write(path.join("disk/seek.rs"), "const A: u32 = 1;").unwrap();
        let hash = || of(&[path.to_owned()]).unwrap();
        let first = hash();
        assert_eq!(first, hash());
        fs::write(path.join("disk/seek.rs"), "const A: u32 = 2;").unwrap();
        let second = hash();
        fs::rename(path.join("disk/seek.rs"), path.join("disk/zeek.rs")).unwrap();
        let third = hash();
        fs::write(path.join("new.rs"), "").unwrap();
        let mut all = vec![first, second, third, hash()];
        all.dedup();
        assert_eq!(all.len(), 4);
        let alone = || of(&[path.join("new.rs")]).unwrap();
        let empty = alone();
        fs::write(path.join("new.rs"), "x").unwrap();
        assert_ne!(alone(), empty);
    }
}
