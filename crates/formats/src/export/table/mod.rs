//! A table of columns as Apache Parquet, for `DuckDB`, pandas and others.

mod column;
#[cfg(feature = "parquet")]
mod write;

pub use column::{Column, MAKER, Values};

use drivelab_core::Refusal;

/// The file; the same columns, the same bytes.
///
/// # Errors
/// This build has no Parquet.
///
/// # Panics
/// Two columns have one name, or their lengths differ.
pub fn parquet(columns: &[Column]) -> Result<Vec<u8>, Refusal> {
    #[cfg(feature = "parquet")]
    return write::write(columns);
    #[cfg(not(feature = "parquet"))]
    Err(Refusal::machine(format!(
        "this drivelab was built without Parquet, for a table of {} columns",
        columns.len()
    ))
    .hint("build it with: cargo install --path crates/cli --features parquet")
    .hint("or write CSV: end the name in .csv"))
}
