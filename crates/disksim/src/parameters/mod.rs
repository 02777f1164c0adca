//! Reads the parameter files of `DiskSim` 4.0 into a drive.
//!
//! A `.parv` file describes a whole simulated system; what is taken from it is its one disk and the
//! bus in front of it. Everything in it that would change a response time is either modelled or
//! refused by name, so that no drive silently answers differently from its description.
//!
//! The meaning of every parameter is from *The `DiskSim` Simulation Environment Version 4.0
//! Reference Manual* (CMU-PDL-08-101).

mod disk;
mod error;
mod fields;
mod layout;
mod mechanics;
mod system;
mod token;
mod tree;

pub use error::DiskSimError;
pub(crate) use system::Described;

use drivelab_model::profile::BaseText;
use error::DiskSimResult;

/// Looks up the text of a file that another names.
pub(crate) type Resolve<'a> = &'a dyn Fn(&str) -> Option<BaseText>;

/// Reads the `.parv` file `file`, whose text is `text`; files that it names are asked of `resolve`,
/// first beside `file`, then as they are named.
pub(crate) fn read(file: &str, text: &str, resolve: Resolve) -> DiskSimResult<Described> {
    let items = tree::Reader::new(resolve).read(file, text)?;
    system::read(&error::At { file: file.into(), line: 1 }, items, resolve)
}

/// The text of the file that `named_in` calls `name`.
fn include(named_in: &str, name: &str, resolve: Resolve) -> Option<BaseText> {
    let beside = named_in.rsplit_once('/').map(|(folder, _)| format!("{folder}/{name}"));
    beside.and_then(|path| resolve(&path)).or_else(|| resolve(name))
}

#[cfg(test)]
mod tests;
