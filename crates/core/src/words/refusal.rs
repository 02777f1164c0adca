//! Why a request was not carried out, and what to type next.

use std::error::Error;
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

/// Who can fix it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The user: the request is invalid.
    Request,
    /// The machine: the same request may succeed elsewhere, or later.
    Machine,
    /// The developers of drivelab.
    Bug,
}

/// An error of a crate that carries out a user's request.
///
/// A lower crate, whose errors a caller distinguishes, has an enum of its own; this type is for
/// errors that only people read.
#[derive(Debug)]
pub struct Refusal {
    /// Who can fix it.
    pub kind: RefusalKind,
    /// What happened, in one sentence without a full stop.
    pub message: String,
    /// What to do about it, the best first.
    pub hints: Vec<String>,
    /// Its cause, not repeated in the message.
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl Refusal {
    /// The request is invalid.
    pub fn request(message: impl fmt::Display) -> Self {
        Self::of(RefusalKind::Request, message)
    }

    /// This machine cannot do it.
    pub fn machine(message: impl fmt::Display) -> Self {
        Self::of(RefusalKind::Machine, message)
    }

    fn of(kind: RefusalKind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string(), hints: Vec::new(), source: None }
    }

    /// Adds what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Sets its cause.
    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// A failed operation on a file: `cannot <operation> <path>`.
    ///
    /// The user can fix a path that does not exist; everything else is the machine's.
    pub fn at_path(operation: &str, path: &Path, error: std::io::Error) -> Self {
        let message = format!("cannot {operation} `{}`", path.display());
        let refusal = match error.kind() {
            ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::InvalidInput
            | ErrorKind::InvalidData => Self::request(message),
            _ => Self::machine(message),
        };
        let hint = path_hint(error.kind(), operation, path);
        hint.into_iter().fold(refusal, Self::hint).because(error)
    }
}

/// What to type next after a failed operation on a file.
pub fn path_hint(kind: ErrorKind, operation: &str, path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).display();
    Some(match kind {
        ErrorKind::NotFound if operation.starts_with("read") => {
            format!("check the name: `ls {folder}` lists the existing files")
        }
        ErrorKind::NotFound => format!("create it first: `mkdir -p {folder}`"),
        ErrorKind::ReadOnlyFilesystem => {
            "choose a place on a file system that is mounted read-write".into()
        }
        ErrorKind::IsADirectory => "name a file, not a folder".into(),
        ErrorKind::NotADirectory => {
            let path = path.display();
            format!("check the path: `ls -d {path}` shows which part is a file")
        }
        ErrorKind::PermissionDenied => "try as another user, or with sudo".into(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space, or choose another place".into()
        }
        _ => return None,
    })
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Refusal {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as &(dyn Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_the_users_to_mend_and_a_full_disk_the_machines() {
        let check = |kind: ErrorKind, expected| {
            let refusal = Refusal::at_path("open", Path::new("data"), kind.into());
            assert_eq!(refusal.kind, expected, "{kind:?}");
            assert_eq!(refusal.to_string(), "cannot open `data`");
            assert!(Error::source(&refusal).is_some());
        };
        check(ErrorKind::NotFound, RefusalKind::Request);
        check(ErrorKind::IsADirectory, RefusalKind::Request);
        check(ErrorKind::StorageFull, RefusalKind::Machine);
        check(ErrorKind::PermissionDenied, RefusalKind::Machine);
    }

    #[test]
    fn a_path_at_fault_has_a_hint_that_can_be_typed() {
        let check = |kind: ErrorKind, operation: &str, expected: &str| {
            let hint = path_hint(kind, operation, Path::new("none/data")).unwrap();
            assert!(hint.contains(expected), "{kind:?}: {hint}");
        };
        check(ErrorKind::NotFound, "read", "`ls none`");
        check(ErrorKind::NotFound, "write", "`mkdir -p none`");
        check(ErrorKind::IsADirectory, "write", "not a folder");
        check(ErrorKind::NotADirectory, "read", "`ls -d none/data`");
        check(ErrorKind::ReadOnlyFilesystem, "write", "mounted read-write");
        assert_eq!(path_hint(ErrorKind::TimedOut, "read", Path::new("data")), None);
    }
}
