//! Inclusion of files.

use drivelab_model::profile::BaseText;

/// Looks up the text of a file that another names.
pub(crate) type Resolve<'a> = &'a dyn Fn(&str) -> Option<BaseText>;

/// The text of the file that `named_in` calls `name`.
pub(super) fn include(named_in: &str, name: &str, resolve: Resolve) -> Option<BaseText> {
    // Files are usually copied together, and DiskSim's names are relative to a folder of its
    // distribution: the folder of the file comes first.
    let sibling = named_in.rsplit_once('/').map(|(folder, _)| format!("{folder}/{name}"));
    sibling.and_then(|path| resolve(&path)).or_else(|| resolve(name))
}
