//! The cells for scripts.

use serde_json::{Value, json};

use super::{Cells, Row};

impl Cells {
    /// The key `cells` of a study: the mean over blocks of each.
    pub(crate) fn json(&self, arms: &[&str]) -> Vec<Value> {
        let cell = |row: &Row| {
            json!({
                "arm": arms[row.arm],
                "cursor": self.matrix.cursors[row.cursor].to_string(),
                "read": row.group.read,
                "random": row.group.random,
                "threads": row.group.threads,
                "bs_bytes": self.matrix.bs[row.size].largest().get(),
                "alone_bytes_per_s": row.alone,
                "together_bytes_per_s": row.together,
                "sum_bytes_per_s": row.sum(),
                "scaling": row.scaling(),
            })
        };
        self.means().iter().map(cell).collect()
    }
}
