//! The name of a study's results folder, where the command gives none.

use std::path::{Path, PathBuf};

/// True if the folder holds a study's result.
pub(super) fn is_finished(folder: &Path) -> bool {
    folder.join("result.json").exists()
}

/// The folder for a new study: `NAME`, or behind those that hold finished ones `NAME-2`, ...
pub fn fresh(name: &Path) -> PathBuf {
    let latest = last(name);
    if is_finished(&latest) {
        numbered(name, number(name, &latest).unwrap_or(1) + 1)
    } else {
        latest
    }
}

/// The first folder of that name after all that exist.
pub fn unused(name: &Path) -> PathBuf {
    let latest = last(name);
    if latest.exists() { numbered(name, number(name, &latest).unwrap_or(1) + 1) } else { latest }
}

/// The last folder of that name: the one that `--resume` goes on in.
pub fn last(name: &Path) -> PathBuf {
    let siblings = name.parent().and_then(|parent| parent.read_dir().ok());
    let paths = siblings.into_iter().flatten().flatten().map(|entry| entry.path());
    let numbers = paths.filter(|path| path.is_dir()).filter_map(|path| number(name, &path));
    numbered(name, numbers.max().unwrap_or(1))
}

/// `n` where `path` is `NAME-n`, 1 where it is `NAME`.
fn number(name: &Path, path: &Path) -> Option<u32> {
    let (name, own) = (name.file_name()?.to_str()?, path.file_name()?.to_str()?);
    let rest = own.strip_prefix(name)?;
    let Some(digits) = rest.strip_prefix('-') else { return rest.is_empty().then_some(1) };
    let number: u32 = digits.parse().ok()?;
    // Other spellings, such as `-1` and `-02`, are folders of the user.
    (number > 1 && number < u32::MAX && number.to_string() == digits).then_some(number)
}

fn numbered(name: &Path, number: u32) -> PathBuf {
    let own = name.file_name().unwrap_or_default().to_string_lossy();
    if number == 1 { name.to_owned() } else { name.with_file_name(format!("{own}-{number}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_counts() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join("a.b");
        assert_eq!((last(&name), fresh(&name)), (name.clone(), name.clone()));
        for own in ["a.b", "a.b-9", "a.b-10", "a.b-011", "a.b-x", "a.b-1", "a.bc", "other-99"] {
            std::fs::create_dir(folder.path().join(own)).unwrap();
        }
        std::fs::write(folder.path().join("a.b-12"), "no folder").unwrap();
        assert_eq!(last(&name), folder.path().join("a.b-10"));
        assert_eq!(fresh(&name), folder.path().join("a.b-10"));
        std::fs::write(folder.path().join("a.b-10/result.json"), "").unwrap();
        assert_eq!(fresh(&name), folder.path().join("a.b-11"));
    }
}
