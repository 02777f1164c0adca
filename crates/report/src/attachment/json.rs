//! What differed, for scripts.

use serde::Serialize;

use super::Difference;

/// The key `attached` of `compare` and `study`.
#[derive(Debug, Serialize)]
pub(crate) struct AttachedJson<'a> {
    /// What was declared to differ.
    factors: &'a [&'static str],
    /// What differs; values in the order of the arms, null where one was not seen.
    differs: Vec<RowJson<'a>>,
    warnings: &'a [String],
    findings: &'a [String],
}

#[derive(Debug, Serialize)]
struct RowJson<'a> {
    name: &'a str,
    values: &'a [Option<String>],
    declared: bool,
}

impl<'a> From<&'a Difference> for AttachedJson<'a> {
    fn from(difference: &'a Difference) -> Self {
        let rows = difference.rows.iter().map(|row| RowJson {
            name: &row.name,
            values: &row.values,
            declared: row.declared,
        });
        Self {
            factors: &difference.factors,
            differs: rows.collect(),
            warnings: &difference.warnings,
            findings: &difference.faults,
        }
    }
}
