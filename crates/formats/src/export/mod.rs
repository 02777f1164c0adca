//! Exports results in the formats of other tools.

mod benchstat;
mod csv;
mod markdown;
#[cfg(feature = "parquet")]
mod parquet;
pub mod table;

pub use crate::exported::Exported;

use drivelab_core::config::Choice;
use drivelab_core::foreign::Imported;
use drivelab_core::{Refusal, choice_as_text};

use crate::{bonnie, crystaldiskmark, phoronix};

/// An export format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// bonnie++ CSV, format 1.98.
    Bonnie,
    /// `composite.xml` of the Phoronix Test Suite.
    Phoronix,
    /// The text of `CrystalDiskMark`.
    CrystalDiskMark,
    /// Pairs, as `compare --pairs` reads them.
    Csv,
    /// A table.
    Markdown,
    /// The benchmark format of Go, which benchstat reads.
    Benchstat,
    /// Apache Parquet: a row per figure.
    Parquet,
}

impl Choice for Format {
    const WHAT: &'static str = "format to export";
    const NAMES: &'static [(&'static str, Self)] = &[
        ("bonnie", Self::Bonnie),
        ("bonnie++", Self::Bonnie),
        ("phoronix", Self::Phoronix),
        ("crystaldiskmark", Self::CrystalDiskMark),
        ("csv", Self::Csv),
        ("markdown", Self::Markdown),
        ("benchstat", Self::Benchstat),
        ("parquet", Self::Parquet),
    ];
}

choice_as_text!(Format);

/// Writes results; runs of one name are the runs of one arm.
///
/// # Errors
/// The format cannot represent any of them.
pub fn write(results: &Imported, format: Format) -> Result<Exported, Refusal> {
    match format {
        Format::Bonnie => bonnie::write(results),
        Format::Phoronix => Ok(phoronix::write(results)),
        Format::CrystalDiskMark => crystaldiskmark::write(results),
        Format::Csv => Ok(csv::write(results)),
        Format::Markdown => Ok(markdown::write(results)),
        Format::Benchstat => Ok(benchstat::write(results)),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::write(results),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(Refusal::machine("this drivelab was built without Parquet")
            .hint("build it with: cargo install --path crates/cli --features parquet")
            .hint("or export CSV: --format csv")),
    }
}

#[cfg(test)]
mod tests;
