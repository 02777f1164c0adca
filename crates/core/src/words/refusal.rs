//! Why a request was not carried out, and what to type next.

use std::error::Error;
use std::fmt;
use std::io::ErrorKind;
use std::path::Path;

use super::Invalid;
use crate::config::ConfigError;
use crate::workload::WorkloadError;

/// Who can fix it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The user: the request is invalid.
    Request,
    /// The machine: the same request may succeed elsewhere, or later.
    Machine,
    /// The developers of drivelab.
    Bug,
    /// The user, who stopped it: nothing is wrong.
    Interrupted,
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
    /// The kind of the I/O error among the causes.
    io: Option<ErrorKind>,
}

/// The causes of an error whose message the refusal has taken over.
#[derive(Debug)]
struct Causes(Box<dyn Error + Send + Sync>);

impl fmt::Display for Causes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.source().map_or(Ok(()), |cause| write!(f, "{cause}"))
    }
}

impl Error for Causes {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source().and_then(Error::source)
    }
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

    /// A bug of drivelab.
    pub fn bug(message: impl fmt::Display) -> Self {
        Self::of(RefusalKind::Bug, message)
    }

    /// The user stopped it.
    pub fn interrupted(message: impl fmt::Display) -> Self {
        Self::of(RefusalKind::Interrupted, message)
    }

    /// The request is invalid, as `error` says.
    pub fn request_error(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::wrapping(RefusalKind::Request, error.into())
    }

    /// This machine cannot do it, as `error` says.
    pub fn machine_error(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::wrapping(RefusalKind::Machine, error.into())
    }

    fn of(kind: RefusalKind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string(), hints: Vec::new(), source: None, io: None }
    }

    fn wrapping(kind: RefusalKind, error: Box<dyn Error + Send + Sync>) -> Self {
        // A refusal keeps its hints, whichever way it comes.
        let error = match error.downcast::<Self>() {
            Ok(refusal) => return Self { kind, ..*refusal },
            Err(error) => error,
        };
        let io = io_kind(&*error);
        let refusal = Self { io, ..Self::of(kind, &error) };
        if error.source().is_none() {
            return refusal;
        }
        Self { source: Some(Box::new(Causes(error))), ..refusal }
    }

    /// Puts a message before this one, which becomes its cause.
    pub fn context(mut self, message: impl fmt::Display) -> Self {
        let hints = std::mem::take(&mut self.hints);
        let (kind, io) = (self.kind, self.io);
        Self { hints, io, source: Some(Box::new(self)), ..Self::of(kind, message) }
    }

    /// The refusal and its causes, the outermost first.
    pub fn chain(&self) -> impl Iterator<Item = &(dyn Error + 'static)> {
        causes(self)
    }

    /// The kind of the I/O error that caused it, if one did.
    pub fn io_kind(&self) -> Option<ErrorKind> {
        self.io
    }

    /// Changes who can fix it.
    pub fn with_kind(self, kind: RefusalKind) -> Self {
        Self { kind, ..self }
    }

    /// Drops what to do about it.
    pub fn without_hints(self) -> Self {
        Self { hints: Vec::new(), ..self }
    }

    /// Adds what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Sets its cause.
    pub fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let source = source.into();
        self.io = io_kind(&*source);
        self.source = Some(source);
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

/// Adds the path and the operation to an I/O error.
pub trait AtPath<T> {
    /// Turns the error into `cannot <operation> <path>`, as [`Refusal::at_path`] does.
    ///
    /// # Errors
    /// The operation failed.
    fn at_path(self, operation: &str, path: &Path) -> Result<T, Refusal>;
}

impl<T> AtPath<T> for std::io::Result<T> {
    fn at_path(self, operation: &str, path: &Path) -> Result<T, Refusal> {
        self.map_err(|error| Refusal::at_path(operation, path, error))
    }
}

/// An error and its causes, the outermost first.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// The kind of the first I/O error in a chain of causes.
fn io_kind(error: &(dyn Error + 'static)) -> Option<ErrorKind> {
    causes(error).find_map(|cause| match cause.downcast_ref::<Refusal>() {
        // It may have taken over the message of the error, which is then not among the causes.
        Some(refusal) => refusal.io,
        None => cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind),
    })
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
            "free some space, or choose another file system".into()
        }
        _ => return None,
    })
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if f.alternate() {
            self.chain().skip(1).try_for_each(|cause| write!(f, ": {cause}"))?;
        }
        Ok(())
    }
}

impl From<ConfigError> for Refusal {
    fn from(error: ConfigError) -> Self {
        let hint = error.hint.clone();
        hint.into_iter().fold(Self::request_error(error), Self::hint)
    }
}

/// The user can write another value.
impl From<Invalid> for Refusal {
    fn from(error: Invalid) -> Self {
        Self::request(error)
    }
}

impl From<WorkloadError> for Refusal {
    fn from(error: WorkloadError) -> Self {
        let hint = error.hint();
        Self::request_error(error).hint(hint)
    }
}

/// Writing results failed: a full disk, a missing folder, a closed pipe.
impl From<std::io::Error> for Refusal {
    fn from(error: std::io::Error) -> Self {
        Self::machine_error(error)
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
    fn an_error_is_taken_over_with_its_causes() {
        let full = || std::io::Error::from(ErrorKind::StorageFull);
        let inner = || Refusal::machine("cannot write").because(full()).hint("free some space");
        let taken = Refusal::request_error(inner());
        assert_eq!(
            (taken.kind, &taken.hints[..]),
            (RefusalKind::Request, &["free some space".into()][..])
        );
        assert_eq!(format!("{taken:#}"), format!("cannot write: {}", full()));
        let outer = inner().context("block 3");
        assert_eq!(format!("{outer:#}"), format!("block 3: cannot write: {}", full()));
        assert_eq!((outer.io_kind(), outer.hints.len()), (Some(ErrorKind::StorageFull), 1));
        let plain = Refusal::machine_error(full());
        assert_eq!((format!("{plain:#}"), plain.chain().count()), (full().to_string(), 1));
        assert_eq!(plain.io_kind(), Some(ErrorKind::StorageFull));
        let nested = Refusal::request("nothing is kept").because(plain);
        assert_eq!(nested.io_kind(), Some(ErrorKind::StorageFull));
        let deeper = Refusal::bug("no report").because(nested);
        assert_eq!(deeper.io_kind(), Some(ErrorKind::StorageFull));
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
