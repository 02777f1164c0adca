//! Paths below the root as text, and what stands at the end of one.

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Folder,
    File,
    /// A pipe, a device, a socket: nothing to be opened.
    Other,
}

/// A path as folder and name.
pub(super) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The folder that holds `path`; `None` at the root.
pub(super) fn parent(path: &str) -> Option<&str> {
    if path.is_empty() {
        return None;
    }
    Some(path.rsplit_once('/').map_or("", |(parent, _)| parent))
}

/// Goes on from `folder` to `name`.
pub(super) fn push(folder: &mut String, name: &str) {
    if !folder.is_empty() {
        folder.push('/');
    }
    folder.push_str(name);
}

/// `name` in `folder`.
pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
