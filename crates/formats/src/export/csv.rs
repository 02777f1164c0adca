//! CSV that `compare --pairs` reads; units and labels are in comments.

use drivelab_core::foreign::Imported;
use drivelab_core::record::{Better, label_names};

use crate::exported::Exported;
use crate::series::Table;

/// Writes one line per run, arm and metric. Metrics without a direction, and zeros, are not
/// compared and have no line.
pub(super) fn write(results: &Imported) -> Exported {
    let mut exported = Exported::default();
    let table = Table::new(results);
    let (mut comments, mut lines) = (String::new(), String::new());
    for series in &table.series {
        let figure = &series.figure;
        let better = match figure.better {
            Better::More => "more",
            Better::Less => "less",
            Better::Neither => {
                exported.leave_out(&figure.name);
                continue;
            }
        };
        let labels = label_names(&figure.remarks).join(", ");
        let labels = if labels.is_empty() { labels } else { format!("; {labels}") };
        comments += &format!("# {}: {}{labels}\n", figure.name.replace('\n', " "), figure.unit());
        for (arm, values) in table.arms.iter().zip(&series.values) {
            for (run, figure) in values {
                // `compare` takes logarithms, which zeros do not have.
                if figure.value > 0.0 {
                    let (arm, name) = (field(arm), field(&figure.name));
                    lines += &format!("{run},{arm},{},{name},{better}\n", figure.value);
                } else {
                    exported.leave_out(&figure.name);
                }
            }
        }
    }
    exported.text = format!("{comments}block,arm,value,metric,better\n{lines}");
    exported
}

/// A field, quoted if necessary (RFC 4180).
fn field(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    // A `#` at the beginning would make the row a comment.
    if text.contains([',', '"', '#']) || text.trim() != text {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}
