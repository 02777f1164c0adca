//! The cells for scripts.

use drivelab_analysis::cells::{Cells, Row};
use serde_json::{Value, json};

/// The key `cells` of a study: the mean over blocks of each.
pub(crate) fn means(cells: &Cells, arms: &[&str]) -> Vec<Value> {
    cells.means().iter().map(|row| cell(cells, row, arms[row.arm])).collect()
}

fn cell(cells: &Cells, row: &Row, arm: &str) -> Value {
    json!({
        "arm": arm,
        "cursor": cells.matrix.cursors[row.cursor].to_string(),
        "read": row.group.read,
        "random": row.group.random,
        "threads": row.group.threads,
        "bs_bytes": cells.matrix.bs[row.size].largest().get(),
        "alone_bytes_per_s": row.alone,
        "together_bytes_per_s": row.together,
        "sum_bytes_per_s": row.sum(),
        "scaling": row.scaling(),
    })
}
