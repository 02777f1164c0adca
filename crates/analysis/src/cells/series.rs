//! The lines of a panel.

use drivelab_core::matrix::Matrix;

use super::row::{Row, mean};

/// The mean over each target alone.
pub const MEAN: &str = "mean of each alone";
/// All targets at once, added.
pub const SUM: &str = "all at once, sum";
/// All targets at once, each one's mean.
pub const EACH: &str = "all at once, per target";

/// One line of a panel: a value in MB/s for each block size, where it was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// The class that draws it.
    pub class: &'static str,
    /// One value for each block size, in MB/s; `None` where it was not measured.
    pub points: Vec<Option<f64>>,
}

/// Each target alone, their mean, and all at once; `rows` holds the row of each block size.
pub fn lines(matrix: &Matrix, rows: &[Option<&Row>]) -> Vec<Line> {
    let targets = matrix.targets.len();
    let mut lines: Vec<Line> = matrix
        .targets
        .iter()
        .enumerate()
        .map(|(index, name)| {
            line(rows, name, "single", |row| row.alone.get(index).copied().flatten())
        })
        .collect();
    if targets > 1 {
        lines.push(line(rows, MEAN, "mean", Row::mean_alone));
        if matrix.together {
            lines
                .push(line(rows, EACH, "each", |row| mean(row.together.iter().flatten().copied())));
            lines.push(line(rows, SUM, "sum", Row::sum));
        }
    }
    lines
}

fn line(
    rows: &[Option<&Row>],
    name: &str,
    class: &'static str,
    value: impl Fn(&Row) -> Option<f64>,
) -> Line {
    let points = rows.iter().map(|row| Some(value((*row)?)? / 1e6)).collect();
    Line { name: name.to_owned(), class, points }
}
