//! Names of folders that only this user and root can make lead elsewhere.
//!
//! Programs that open their files by name, such as a compiler or `SQLite`, need this: what they do
//! cannot be done relative to a descriptor.

use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::folder::Folder;

/// Why a name is not trusted.
#[derive(Debug)]
pub enum Untrusted {
    /// A folder of the name belongs to another user, who may rename what is in it.
    Owner(PathBuf, u32),
    /// Other users may write to a folder of the name, and it is not sticky.
    Writable(PathBuf),
    /// It cannot be read.
    System(io::Error),
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(folder, uid) => {
                write!(f, "`{}` belongs to another user (uid {uid})", folder.display())
            }
            Self::Writable(folder) => {
                write!(f, "other users may rename files in `{}`", folder.display())
            }
            Self::System(_) => f.write_str("the folder cannot be read"),
        }
    }
}

impl std::error::Error for Untrusted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Untrusted {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// The name of `folder` without links, if no other user but root can make it lead elsewhere.
pub fn trusted(folder: &Path) -> Result<PathBuf, Untrusted> {
    let name = folder.canonicalize()?;
    let own = Own {
        user: rustix::process::geteuid().as_raw(),
        group: rustix::process::getegid().as_raw(),
    };
    let mut at = Folder::open(Path::new("/"))?;
    let mut path = PathBuf::from("/");
    debug_assert!(name.is_absolute(), "a canonical name");
    own.check(&at, &path)?;
    // Each folder is opened in the one before: what was checked is what is passed through.
    for part in name.components() {
        let Component::Normal(part) = part else { continue };
        at = at.folder(part)?;
        path.push(part);
        own.check(&at, &path)?;
    }
    Ok(path)
}

/// This process.
#[derive(Debug, Clone, Copy)]
struct Own {
    user: u32,
    group: u32,
}

impl Own {
    fn check(self, folder: &Folder, path: &Path) -> Result<(), Untrusted> {
        let about = rustix::fs::fstat(folder).map_err(io::Error::from)?;
        self.judge(about.st_uid, about.st_gid, about.st_mode, path)
    }

    /// A user's own group is most often that user's alone, and its members are trusted.
    fn judge(self, user: u32, group: u32, mode: u32, path: &Path) -> Result<(), Untrusted> {
        if user != 0 && user != self.user {
            return Err(Untrusted::Owner(path.to_owned(), user));
        }
        // In a sticky folder only the owner of a file renames it.
        let by_group = mode & 0o020 != 0 && group != self.group && group != 0;
        let is_sticky = mode & 0o1000 != 0;
        if (by_group || mode & 0o002 != 0) && !is_sticky {
            return Err(Untrusted::Writable(path.to_owned()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_others_can_change_are_not_trusted() {
        let own = Own { user: 1000, group: 1000 };
        let check = |user, group, mode, is_trusted| {
            let judged = own.judge(user, group, mode, Path::new("/f"));
            assert_eq!(judged.is_ok(), is_trusted, "{user} {group} {mode:o}: {judged:?}");
        };
        check(0, 0, 0o755, true);
        check(0, 0, 0o1777, true);
        check(0, 0, 0o777, false);
        check(1000, 1000, 0o775, true);
        check(1000, 100, 0o775, false);
        check(1000, 1000, 0o757, false);
        check(1001, 1001, 0o755, false);
        check(1001, 1001, 0o1777, false);
    }

    #[test]
    fn a_name_is_given_without_links() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", dir.path().join("link")).unwrap();
        let expected = dir.path().canonicalize().unwrap().join("real");
        assert_eq!(trusted(&dir.path().join("link")).unwrap(), expected);
        trusted(&dir.path().join("none")).unwrap_err();
    }
}
