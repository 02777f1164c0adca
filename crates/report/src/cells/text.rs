//! The scaling of several drives, or the speed of one, for a terminal.

use anstyle::Style;
use drivelab_analysis::cells::{Cells, Row};
use drivelab_analysis::figures::bytes_per_s;
use drivelab_analysis::outcome::geometric_mean;

use crate::text::{Align, Look, Table};

/// One row a group, one column an arm.
pub(crate) fn summary(cells: &Cells, arms: &[&str], look: Look) -> String {
    let mut columns = vec![("cells", Align::Left, 0)];
    columns.extend(arms.iter().map(|name| (*name, Align::Right, 0)));
    let mut table = Table::new(&columns);
    let (means, several) = (cells.means(), cells.matrix.has_all());
    let value = if several { Row::scaling } else { Row::sum };
    let show = |value: f64| {
        if several { format!("{:.0} %", 100.0 * value) } else { bytes_per_s(value) }
    };
    for group in cells.matrix.groups() {
        let mut row = vec![(group.name(), Style::new())];
        row.extend((0..arms.len()).map(|arm| {
            let line = cells.line(&means, arm, group);
            let values: Vec<f64> = line.into_iter().flatten().filter_map(value).collect();
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let text = match values.len() {
                0 => "-".to_owned(),
                _ if several => {
                    format!("{} ({:.0})", show(geometric_mean(&values)), 100.0 * least)
                }
                _ => format!("{} ({})", show(geometric_mean(&values)), show(least)),
            };
            (text, Style::new())
        }));
        table.row(row);
    }
    let about = if several {
        "Scaling: all drives at once, of the sum of each alone; geometric mean over block sizes \
         (lowest)"
    } else {
        "Throughput: geometric mean over block sizes (lowest)"
    };
    format!("{}\n{}", look.wrap(about, 0), table.render(look))
}
