//! Paths below the root as text, and the kind of file at the end of one.

/// The kind of file that a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Folder,
    File,
    /// A pipe, a device, a socket: never opened.
    Other,
}

/// A path as folder and name.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The parent folder of `path`; `None` at the root.
pub(super) fn parent(path: &str) -> Option<&str> {
    if path.is_empty() {
        return None;
    }
    Some(path.rsplit_once('/').map_or("", |(parent, _)| parent))
}

/// Extends `folder` by `name`.
pub(super) fn push(folder: &mut String, name: &str) {
    debug_assert!(!name.is_empty() && name != "..", "a name in the folder");
    if !folder.is_empty() {
        folder.push('/');
    }
    folder.push_str(name);
}

/// `name` in `folder`.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
