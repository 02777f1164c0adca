//! A file in the format of another tool.

/// The output, and the metrics that the format cannot represent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// The file.
    pub text: String,
    /// The file, if its format is not text.
    pub binary: Vec<u8>,
    /// Metrics that the format cannot represent.
    pub left_out: Vec<String>,
}

impl Exported {
    pub(crate) fn leave_out(&mut self, metric: &str) {
        if !self.left_out.iter().any(|known| known == metric) {
            self.left_out.push(metric.to_owned());
        }
    }
}
