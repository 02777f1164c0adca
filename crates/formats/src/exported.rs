//! Text in the format of another tool.

/// What was written, and what has no place in the format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// The file.
    pub text: String,
    /// Metrics that the format has no place for.
    pub left_out: Vec<String>,
}

impl Exported {
    pub(crate) fn leave_out(&mut self, metric: &str) {
        if !self.left_out.iter().any(|known| known == metric) {
            self.left_out.push(metric.to_owned());
        }
    }
}
