//! What stands in a row.

use drivelab_core::config::Choice as _;
use drivelab_core::record::Origin;
use rusqlite::types::FromSql;

use crate::error::ArchiveError;
use crate::pack::unpack;
use crate::store::Row;

/// `$3, $4, ...`: parameters of a statement, from `first` on.
pub(super) fn places(first: usize, count: usize) -> String {
    let places: Vec<String> = (first..first + count).map(|place| format!("${place}")).collect();
    places.join(", ")
}

/// The text of a row that begins with a document and its length, or why there is none.
pub(super) fn packed(row: &Row) -> Result<Result<String, String>, ArchiveError> {
    let (bytes, length): (Vec<u8>, i64) = (row.get(0)?, row.get(1)?);
    Ok(unpack(&bytes, length.unsigned_abs()))
}

/// The document of a row that has its id behind it.
pub(super) fn document(row: &Row) -> Result<String, ArchiveError> {
    let name: String = row.get(2)?;
    packed(row)?.map_err(|why| ArchiveError::Damaged { run: name, why })
}

pub(super) fn field<T: FromSql>(row: &Row, column: usize, what: &str) -> Result<T, String> {
    row.get(column).map_err(|_| format!("its {what} is damaged"))
}

pub(super) fn origin(row: &Row, column: usize) -> Result<Origin, String> {
    let name: String = field(row, column, "origin")?;
    Origin::from_name(&name).map_err(|_| format!("its origin `{name}` is unknown to this version"))
}
