//! Columns of rows, as types.

use std::sync::Arc;

use drivelab_core::config::Choice as _;
use drivelab_core::record::Origin;
use drivelab_core::{Invalid, invalid};
use rusqlite::types::FromSql;

use crate::entry::{Digest, RunId};
use crate::error::ArchiveError;
use crate::pack::unpack;
use crate::store::{Row, Value};

/// `$3, $4, ...`: parameters of a statement, from `first` on.
pub(super) fn parameters(first: usize, count: usize) -> String {
    assert!(first > 0, "parameters are numbered from 1");
    let all: Vec<String> = (first..first + count).map(|number| format!("${number}")).collect();
    all.join(", ")
}

/// The text of a row that begins with a record and its length, or why there is none.
pub(super) fn packed(row: &Row) -> Result<Result<String, Invalid>, ArchiveError> {
    unpacked(row, unpack)
}

fn unpacked(
    row: &Row,
    read: fn(&[u8], u64) -> Result<String, Invalid>,
) -> Result<Result<String, Invalid>, ArchiveError> {
    let (bytes, length): (Option<Vec<u8>>, Option<i64>) = (row.get(0)?, row.get(1)?);
    let Some((bytes, length)) = bytes.zip(length) else {
        return Ok(Err("it is missing".into()));
    };
    Ok(read(&bytes, length.unsigned_abs()))
}

/// The document of a row of record, its length and id, by way of `read`.
pub(super) fn document(
    row: &Row,
    read: fn(&[u8], u64) -> Result<String, Invalid>,
) -> Result<String, ArchiveError> {
    let name: String = row.get(2)?;
    unpacked(row, read)?.map_err(|Invalid(why)| ArchiveError::Damaged { run: name, why })
}

pub(super) fn id(row: &Row, column: usize) -> Result<RunId, ArchiveError> {
    let run: String = row.get(column)?;
    run.parse().map_err(|_| ArchiveError::NoSuchRun(run))
}

pub(super) fn field<T: FromSql>(row: &Row, column: usize, what: &str) -> Result<T, Invalid> {
    row.get(column).map_err(|_| invalid!("its {what} is damaged"))
}

pub(super) fn origin(row: &Row, column: usize) -> Result<Origin, Invalid> {
    let name: String = field(row, column, "origin")?;
    Origin::from_name(&name).map_err(|_| invalid!("its origin `{name}` is unknown to this version"))
}

/// The columns of a digest behind `run`, `version` and `common`.
pub(super) fn digest_columns(digest: &Digest) -> [Value; 5] {
    // In a fixed byte order, as an archive may move to another machine.
    let values = digest.values.iter().flat_map(|value| value.to_le_bytes());
    [
        digest.ended_unix_s.map(u64::cast_signed).into(),
        // All 64 bits: a seed may be any number.
        digest.seed.cast_signed().into(),
        digest.content.to_le_bytes().to_vec().into(),
        digest.flaws.clone().into(),
        values.collect::<Vec<u8>>().into(),
    ]
}

/// The digest whose own columns begin at `first`, in the order of [`digest_columns`].
pub(super) fn digest(row: &Row, first: usize, common: Arc<str>) -> Result<Digest, Invalid> {
    let (content, values): (Vec<u8>, Vec<u8>) =
        (field(row, first + 2, "digest")?, field(row, first + 4, "digest")?);
    let (values, rest) = values.as_chunks::<8>();
    // Sixteen bytes of a hash and eight of each value, or the row was changed.
    let content = content.try_into().ok().filter(|_| rest.is_empty());
    Ok(Digest {
        common,
        ended_unix_s: field::<Option<i64>>(row, first, "digest")?.map(i64::cast_unsigned),
        seed: field::<i64>(row, first + 1, "digest")?.cast_unsigned(),
        content: u128::from_le_bytes(content.ok_or("its digest is damaged")?),
        flaws: field(row, first + 3, "digest")?,
        values: values.iter().copied().map(f64::from_le_bytes).collect(),
    })
}
