//! Reads the parameter files of `DiskSim` 4.0 into a drive.
//!
//! A `.parv` file describes a complete simulated system; only its one disk and the bus in front of
//! it are used. Everything in it that would change a response time is either modelled or
//! refused by name, so that no drive silently answers differently from its description.
//!
//! The meaning of every parameter is from *The `DiskSim` Simulation Environment Version 4.0
//! Reference Manual* (CMU-PDL-08-101).

mod disk;
mod error;
mod fields;
mod include;
mod layout;
mod mechanics;
mod system;
mod token;
mod tree;

pub use error::DiskSimError;
pub(crate) use system::Description;

use error::DiskSimResult;
use include::Resolve;

/// Reads the `.parv` file `file` with the text `text`; `resolve` reads the files that it names,
/// first in the folder of `file`, then as named.
pub(crate) fn read(file: &str, text: &str, resolve: Resolve) -> DiskSimResult<Description> {
    let items = tree::Reader::new(resolve).read(file, text)?;
    system::read(&error::At { file: file.into(), line: 1 }, items, resolve)
}

#[cfg(test)]
mod tests;
